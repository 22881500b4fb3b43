"""The application that all commands belong to, and how a command ends."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable

import typer

from ..output.readable import message
from ..system.disk_lost import watched
from ..user_input.mistake import Mistake, Told

app = typer.Typer(
    name="relaxfuzz",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Find bugs in the passes of Apache TVM's Relax.\n\n"
    "Exit codes: 0 nothing new found, 1 findings, 2 your mistake, 3 a fault of relaxfuzz, or its "
    "workers were lost.",
)


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def finish(command: Callable[[], int], *, tvm: bool = True) -> None:
    """Run a command to its exit code; the three kinds of failure never mix.

    Args:
        tvm: it needs TVM; without one that works it is refused.
    """
    from ...generators.tvm_api import TVMUnsupported, require_tvm

    try:
        with warnings.catch_warnings(record=True) as told:
            if tvm:
                require_tvm()
        for warning in told:
            print(f"warning: {warning.message}", file=sys.stderr)
        with watched():  # a full disk, wherever it was met
            code = command()
    except (Mistake, TVMUnsupported) as error:
        print(f"error: {message(str(error))}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        # Whoever read our output has seen enough (`relaxfuzz passes | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Told as error:
        print(f"error: {message(str(error))}", file=sys.stderr)
        code = 3
    except Exception:
        traceback.print_exc()
        print("This is a fault of relaxfuzz, not of a pass and not yours.", file=sys.stderr)
        code = 3
    raise typer.Exit(code)
