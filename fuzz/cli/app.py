"""The application to which all commands belong, and their exit codes."""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from ..output.readable import message
from ..system import ending
from ..system.disk_failure import watched
from ..system.errors import RelaxfuzzError, UserError
from .options import with_settings

F = TypeVar("F", bound=Callable[..., int])

END_SOON: set[str] = set()
"""The commands that a signal ends within two seconds; see `system.ending`."""


EXIT_CODES = {
    0: "nothing new",
    1: "a new finding of grade B or A (see --fail-on), or a build of your own module (check, "
    "explain) that fails or computes wrong values, by a known bug as well",
    2: "a mistake in the call or in your files",
    3: "relaxfuzz itself or its workers failed",
    4: "nothing was found and nothing compared, or nothing was there to check",
}
"""The meaning of each exit code; README.md and docs/triage.md have the same table."""


app = typer.Typer(
    name="relaxfuzz",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Find bugs in the passes of Apache TVM's Relax.\n\n"
    "Exit codes: " + "; ".join(f"{code} {what}" for code, what in EXIT_CODES.items()) + ".",
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"relaxfuzz {version('relaxfuzz')}")
        raise typer.Exit


@app.callback()
def relaxfuzz_command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Hold the options of the program itself."""


def command(
    name: str | None = None,
    *,
    of: typer.Typer = app,
    tvm: bool = True,
    workers: bool = False,
    ends_soon: bool = False,
    early: Callable[..., int | None] | None = None,
    **settings: Any,
) -> Callable[[F], F]:
    """Make a command from a function that returns the exit code.

    It has an option for each parameter of the function, and for each setting that it takes; the
    parameter `given` stands for the settings, see `with_settings`.

    Args:
        of: the group that the command belongs to.
        tvm: the command needs a working TVM.
        workers: it starts workers on this machine, which import TVM while the command does.
        ends_soon: it is one of `END_SOON`. A campaign first confirms its violations.
        early: called with the same arguments before TVM is imported. It raises UserError for
            mistakes that can be found without TVM; an exit code that it returns ends the command.
        settings: settings of `typer.Typer.command`.
    """

    def decorate(function: F) -> F:
        group = "" if of is app else f"{of.info.name} "
        taker = f"{group}{name or function.__name__}"
        made = with_settings(function, taker)
        first = None if early is None else with_settings(early, taker)

        @functools.wraps(made)
        def run(*args: Any, **options: Any) -> None:
            finish(
                lambda: made(*args, **options),
                tvm=tvm,
                workers=workers,
                early=None if first is None else lambda: first(*args, **options),
            )

        of.command(name, **settings)(run)
        if ends_soon:
            END_SOON.add(name or function.__name__)
        return function

    return decorate


def finish(
    command: Callable[[], int],
    *,
    tvm: bool = True,
    workers: bool = False,
    early: Callable[[], int | None] | None = None,
) -> None:
    """Run a command and exit with its code; see `command`."""
    from ...compat.drift import cannot_work
    from ...compat.release import TVMUnsupported, require_tvm
    from ..process import launch

    try:
        code = None if early is None else early()
        if code is None:
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
        # The reader of our output has closed it (`relaxfuzz list passes | head`).
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
    # A thread left behind may be inside TVM, which is destroyed when the interpreter ends.
    if ending.asked.is_set() or ending.leaves_threads():
        ending.leave(code)
    raise typer.Exit(code)
