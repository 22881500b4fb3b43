"""`make bench-models`: what `relaxfuzz check` says of models of torchvision and transformers.

Each model of `zoo.py` is given to the command in a process of its own. The table in docs/models.md
is written from what it prints as JSON; models that are not named keep their lines. PyTorch is only
in the environment in which this runs.

    python -m bench.models [--seconds 600] [NAME ...]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from relaxfuzz.oracles.silence.inventory import UNCHANGED

from ..pages import part, put
from .zoo import MODELS

ZOO = Path(__file__).with_name("zoo.py")
PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BEGIN, END = "<!-- begin of the table -->", "<!-- end of the table -->"

HEADER = (
    "| model | importer | evaluation | default build | exit code | rows of check | "
    "known bugs | values compared | CPU s | MB |",
    "|---|---|---|---|---|---|---|---|---|---|",
)

EVERY = 0.2
"""Seconds between two looks at the memory."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of the command."""

    code: int | None
    """None: it did not end in time."""
    events: Sequence[dict[str, Any]]
    error: str
    seconds: float
    """CPU time of the command and all of its processes."""
    megabytes: float
    """The most that all of them held at one time, shared pages counted once."""


def main(arguments: Sequence[str]) -> None:
    """Check the models and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.models")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of zoo.py; none: all")
    parser.add_argument("--seconds", type=float, default=600.0, help="for each model")
    options = parser.parse_args(arguments)
    for name in options.names or MODELS:
        line = f"| {name} | {' | '.join(cells(measure(name, options.seconds)))} |"
        print(line, flush=True)
        _write(name, line)


def measure(name: str, seconds: float) -> Measured:
    """Run the command on a model."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "relaxfuzz.fuzz.cli", "check", f"{ZOO}:{name}"]
        began, used = time.monotonic(), _Used()
        out, error = Path(folder, "out"), Path(folder, "error")
        with out.open("wb") as file, error.open("wb") as errors:
            process = subprocess.Popen(
                [*command, "--json", "--out", f"{folder}/found"], stdout=file, stderr=errors
            )
            while process.poll() is None and time.monotonic() - began < seconds:
                used.look(process.pid)
                time.sleep(EVERY)
            code = process.poll()
            if code is None:
                process.terminate()
                process.wait()
        lines = out.read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        text = error.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return Measured(code, events, text[-1] if text else "", used.seconds, used.megabytes)


class _Used:
    """CPU time and memory of a process and its descendants, by looking now and then."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._times: dict[tuple[int, float], float] = {}

    @property
    def seconds(self) -> float:
        return sum(self._times.values())

    def look(self, pid: int) -> None:
        """Take the measures now."""
        held = 0.0
        for each in _family(pid):
            try:
                times, held_now = each.cpu_times(), each.memory_full_info().uss
                self._times[each.pid, each.create_time()] = times.user + times.system
            except psutil.Error:
                continue
            held += held_now
        self.megabytes = max(self.megabytes, held / 1e6)


def _family(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def cells(found: Measured) -> Iterator[str]:
    """The cells of the table for one run."""
    verdict = next((each for each in found.events if each["event"] == "framework"), None)
    if verdict is None:
        why = found.error.partition("cannot be imported: ")[2] or found.error
        yield from (f"fails: {_short(why)}" if found.code is not None else "", "", "")
    else:
        yield "; ".join(_short(each) for each in verdict["types"]) or "same types"
        for kind in ("evaluated", "built"):
            yield _outcome(verdict[kind], verdict[f"not_{kind}"])
    yield "not in time" if found.code is None else str(found.code)
    rows = [each for each in found.events if each["event"] == "finding"]
    yield "; ".join(f"{each['grade']} {each['pass']} ({each['oracle']})" for each in rows)
    yield str(sum(each["event"] == "known" for each in found.events))
    yield _compared(found.events)
    yield f"{found.seconds:.0f}"
    yield f"{found.megabytes:,.0f}"


def _outcome(other: str | None, none: str | None) -> str:
    if none is not None:
        return f"no value: {_short(none)}"
    return "as the framework" if other is None else _short(other)


def _short(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")[:120]


def _compared(events: Sequence[dict[str, Any]]) -> str:
    """For how many checks of passes that change the module values were compared in NumPy."""
    asked = [each for each in events if each["event"] == "asked" and each["oracle"] == "evaluated"]
    changing = [each for each in asked if each["reason"] != UNCHANGED.excuses]
    return f"{sum(not each['silent'] for each in changing)} of {len(changing)}"


def _write(name: str, line: str) -> None:
    """Put the line of a model into the page, in the place of an older one."""
    lines = {_name(old): old for old in part(PAGE, BEGIN, END).splitlines()}
    lines[name] = line
    ordered = [lines[each] for each in MODELS if each in lines]
    put(PAGE, "\n".join([*HEADER, *ordered]), BEGIN, END)


def _name(line: str) -> str:
    found = re.match(r"\| (\w+) \|", line)
    return found[1] if found else ""


if __name__ == "__main__":
    main(sys.argv[1:])
