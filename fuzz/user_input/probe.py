"""Builds passes once, in a separate process, because that may execute a user's file.

Run as `python -m relaxfuzz.fuzz.user_input.probe RESULT LIKES`; both are JSON.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from json import dumps, loads  # bound before a user's file can replace them
from pathlib import Path

from ...oracles.catalogue import contract_of, is_users_contract
from ...oracles.passcall import BadPass, BadSpelling, PassCall, parse
from ...oracles.text.messages import text_of
from ..output.readable import sentence
from ..process.targets import Named, of_sought
from ..system.environment import HERE
from ..system.errors import UserError
from ..system.limits import PROCESSES, lower
from ..system.scratch import scratch
from ..system.serialize import plain, typed
from ..system.supervised import Supervised
from ..system.supervisor import TOO_MANY
from .named import names_of
from .pass_type import Probed, families_of_pass

SECONDS = 120

OUTPUT = 1 << 28
"""Most bytes that the process may write to a file."""

LAST = 1000
"""Bytes to read from the end of its stderr."""


def probe(likes: Mapping[str, str | None]) -> Mapping[str, Probed]:
    """Build each pass once, and read the names in its code and its families, by spelling.

    Args:
        likes: the contract of each pass; see `PassCall.like`.

    Raises:
        UserError: a pass cannot be built: its file cannot be loaded, its factory raises or does not
            return a Pass, its arguments are refused, or it kills the process.
    """
    with (
        tempfile.TemporaryDirectory(dir=scratch()) as folder,
        (Path(folder) / "stderr").open("w+b") as stderr,
    ):
        result = Path(folder) / "result.json"
        spellings = [*likes]
        main = "relaxfuzz.fuzz.user_input.probe"
        command = [sys.executable, "-m", main, str(result), dumps(dict(likes))]
        with Supervised(
            command,
            processes=PROCESSES,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=HERE.all_variables(),
        ) as process:
            try:
                code = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                raise UserError(f"building {', '.join(spellings)} took over {SECONDS} s") from None
        if code == TOO_MANY:
            raise UserError(f"building {', '.join(spellings)} starts over {PROCESSES} processes")
        if not result.is_file():
            how = f"ended the process with code {code}"
            if code < 0:
                how = f"killed the process with {signal.Signals(-code).name}"
            stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - LAST))
            *_, last = ["", *stderr.read().decode(errors="replace").strip().splitlines()]
            raise UserError(sentence(f"building {', '.join(spellings)} {how}: {last}").rstrip(": "))
        problem, names = loads(result.read_text(encoding="utf-8"))
    if problem is not None:
        raise UserError(str(problem))
    try:
        found: Mapping[str, Probed] = typed(names, Mapping[str, Probed])
    except ValueError as error:  # a user's file has written it
        raise UserError(f"building {', '.join(spellings)} gave no result: {error}") from None
    return found


def _tried(spelling: str, like: str | None) -> Probed | str:
    """The pass, built once, or the reason why it cannot be built."""
    try:
        call = dataclasses.replace(parse(spelling), like=like)
        pass_ = call.build()
        contract = contract_of(call) if is_users_contract(call) else None
    except (BadPass, BadSpelling) as error:
        return str(error)
    except BaseException as error:  # also SystemExit of a user's file
        lines = text_of(error).strip().splitlines()
        return f"{spelling} raised {type(error).__name__}: {lines[0] if lines else ''}"
    named = _named(call)
    families = families_of_pass(pass_, named)
    if contract is None:
        return Probed(named, families)
    never = tuple(each.oracle for each in contract.exemptions if each.when is None)
    sought = contract.looks_for
    named = named if sought is None else of_sought(sought)
    return Probed(named, families, contract.stages, never)


def _named(call: PassCall) -> Named:
    try:
        return names_of(call)
    except Exception:  # a user's object may refuse inspection
        return Named()


def main() -> None:
    """Write the first problem, or null, and the probed passes."""
    lower(resource.RLIMIT_FSIZE, OUTPUT)
    result, likes = sys.argv[1:]
    problem: str | None = None
    probed: dict[str, object] = {}
    for spelling, like in loads(likes).items():
        tried = _tried(spelling, like)
        if isinstance(tried, str):
            problem = tried
            break
        probed[spelling] = plain(tried)
    part = Path(result + ".part")
    part.write_text(dumps([problem, probed]), encoding="utf-8")
    os.replace(part, result)
    os._exit(0)  # the file may have started threads that would continue


if __name__ == "__main__":
    main()
