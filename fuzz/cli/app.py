"""The application that all commands belong to, and their exit codes."""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import typer
import typer.core

from ..output.readable import message
from ..system import ending
from ..system.disk_failure import watched
from ..user_input.errors import RelaxfuzzError, UserError
from ..user_input.options import EXEMPT_INSTEAD

F = TypeVar("F", bound=Callable[..., int])

END_SOON: set[str] = set()
"""The commands that a signal ends within two seconds, see `system.ending`."""

REPLACED = {
    **{f"--{old}": f"--exempt {oracle}" for old, oracle in EXEMPT_INSTEAD.items()},
    "--known-prune": "`relaxfuzz known --prune`",
}
"""Former options, and what to write instead."""


class _Commands(typer.core.TyperGroup):
    """The commands; a former option gets an error that names its successor."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in ("run", "check", "known"):
            for old in args:
                if old in REPLACED:
                    print(f"error: {old} is now {REPLACED[old]}", file=sys.stderr)
                    raise typer.Exit(2)
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Commands,
    name="relaxfuzz",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Find bugs in the passes of Apache TVM's Relax.\n\n"
    "Exit codes: 0 no new findings, 1 findings, 2 user error, 3 relaxfuzz itself or its workers "
    "failed, 4 nothing was compared (run, check).",
)


def command(
    name: str | None = None,
    *,
    of: typer.Typer = app,
    tvm: bool = True,
    workers: bool = False,
    ends_soon: bool = False,
    **settings: Any,
) -> Callable[[F], F]:
    """Make a command of a function that returns the exit code.

    Args:
        of: the group that it belongs to.
        tvm: whether the command needs a working TVM.
        workers: it starts workers on this machine; they import TVM while the command does.
        ends_soon: it is one of `END_SOON`. A campaign first confirms what it has found.
        settings: those of `typer.Typer.command`.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> None:
            finish(lambda: function(*args, **options), tvm=tvm, workers=workers)

        of.command(name, **settings)(run)
        if ends_soon:
            END_SOON.add(name or function.__name__)
        return function

    return decorate


def finish(command: Callable[[], int], *, tvm: bool = True, workers: bool = False) -> None:
    """Run a command and exit with its code; see `command`."""
    from ...compat.drift import cannot_work
    from ...compat.release import TVMUnsupported, require_tvm
    from ..process import launch

    try:
        if workers:
            launch.ahead()
        with warnings.catch_warnings(record=True) as caught:
            if tvm:
                require_tvm()
        for warning in caught:
            print(f"warning: {warning.message}", file=sys.stderr)
        with watched():  # for a full disk
            code = command()
    except (UserError, TVMUnsupported) as error:
        print(f"error: {message(str(error))}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = ending.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it (`relaxfuzz passes | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except RelaxfuzzError as error:
        print(f"error: {message(str(error))}", file=sys.stderr)
        code = 3
    except Exception as error:
        if (lacking := cannot_work(error)) is not None:
            print(f"error: {lacking}", file=sys.stderr)
            raise typer.Exit(2) from None
        traceback.print_exc()
        print("This is a bug of relaxfuzz, not of a pass. Please report it.", file=sys.stderr)
        code = 3
    finally:
        launch.discard()
    # A thread that is left behind may be inside of TVM, which the interpreter's end destroys.
    if ending.asked.is_set() or ending.leaves_threads():
        ending.leave(code)
    raise typer.Exit(code)
