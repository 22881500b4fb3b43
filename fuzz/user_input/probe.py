"""Builds passes once, in a process of its own, because that may execute a file of the user's.

Run as `python -m relaxfuzz.fuzz.user_input.probe RESULT SPELLING...`; the result is JSON.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from json import dumps, loads  # bound before a user's file can replace them
from pathlib import Path

from ...oracles.passcall import BadPass, BadSpelling, PassCall, parse
from ...oracles.text.messages import text_of
from ..output.readable import sentence
from ..process.serialize import plain, typed
from ..process.targets import Named
from ..system.environment import HERE
from ..system.limits import adopt_orphans, die_with_parent, lower
from ..system.orphans import kill_descendants
from ..system.scratch import scratch
from .errors import UserError
from .named import names_of
from .pass_type import Probed, family_by_type

SECONDS = 120

OUTPUT = 1 << 28
"""Bytes that the process may write to a file."""

LAST = 1000
"""Bytes at the end of its stderr that are looked at."""


def probe(spellings: Sequence[str]) -> Mapping[str, Probed]:
    """Build each pass once, and read what its code names and what its type says, by spelling.

    Raises:
        UserError: one cannot be built: its file cannot be loaded, its factory raises or returns no
            Pass, its arguments are refused, or it ends the process.
    """
    with (
        tempfile.TemporaryDirectory(dir=scratch()) as folder,
        (Path(folder) / "stderr").open("w+b") as stderr,
    ):
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "relaxfuzz.fuzz.user_input.probe", str(result), *spellings]
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                timeout=SECONDS,
                stdin=subprocess.DEVNULL,
                env=HERE.all_variables(),
            )
        except subprocess.TimeoutExpired:
            raise UserError(f"building {', '.join(spellings)} took over {SECONDS} s") from None
        if not result.is_file():
            how = f"ended the process with code {done.returncode}"
            if done.returncode < 0:
                how = f"killed the process with {signal.Signals(-done.returncode).name}"
            stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - LAST))
            *_, last = ["", *stderr.read().decode(errors="replace").strip().splitlines()]
            raise UserError(sentence(f"building {', '.join(spellings)} {how}: {last}").rstrip(": "))
        problem, names = loads(result.read_text(encoding="utf-8"))
    if problem is not None:
        raise UserError(str(problem))
    try:
        found: Mapping[str, Probed] = typed(names, Mapping[str, Probed])
    except ValueError as error:  # a file of the user's has written it
        raise UserError(f"building {', '.join(spellings)} gave no result: {error}") from None
    return found


def _tried(spelling: str) -> Probed | str:
    """The pass, built once, or why it cannot be built."""
    try:
        call = parse(spelling)
        pass_ = call.build()
    except (BadPass, BadSpelling) as error:
        return str(error)
    except BaseException as error:  # also SystemExit of a user's file
        lines = text_of(error).strip().splitlines()
        return f"{spelling} raised {type(error).__name__}: {lines[0] if lines else ''}"
    return Probed(_named(call), family_by_type(pass_))


def _named(call: PassCall) -> Named:
    try:
        return names_of(call)
    except Exception:  # an object of the user's may refuse to be looked at
        return Named()


def main() -> None:
    """Write the first problem, or null."""
    adopt_orphans()
    die_with_parent()
    lower(resource.RLIMIT_FSIZE, OUTPUT)
    result, *spellings = sys.argv[1:]
    problem: str | None = None
    probed: dict[str, object] = {}
    for spelling in spellings:
        tried = _tried(spelling)
        if isinstance(tried, str):
            problem = tried
            break
        probed[spelling] = plain(tried)
    part = Path(result + ".part")
    part.write_text(dumps([problem, probed]), encoding="utf-8")
    os.replace(part, result)
    kill_descendants()
    os._exit(0)  # the file may have started threads that would go on


if __name__ == "__main__":
    main()
