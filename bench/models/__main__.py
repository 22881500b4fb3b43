"""`make bench-models`: the answers of `check` on models of torchvision and transformers.

Each model of `zoo.py` is given to the command in a separate process, and to `relaxfuzz explain` if
its default build fails. The table in docs/models.md comes from their JSON output; models that are
not named keep their lines. Only the environment of this program has PyTorch.

    python -m bench.models [--seconds 600] [--budget 60s] [NAME ...]
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

from relaxfuzz.fuzz.session.checking import UNMADE
from relaxfuzz.fuzz.user_input.settings import BUDGET
from relaxfuzz.oracles.silence.inventory import DIED, UNCHANGED

from ..pages import part, put
from .zoo import MODELS

ZOO = Path(__file__).with_name("zoo.py")
PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BEGIN, END = "<!-- begin of the table -->", "<!-- end of the table -->"

HEADER = (
    "| model | importer | evaluation | default build | explain | exit code | rows of check | "
    "known bugs | values compared | not made | s | CPU s | MB |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
)

NOTHING = (UNCHANGED.excuses, DIED.excuses, "the pass leaves the functions", "not asked, for ")
"""The start of the reason if there is nothing to compare: the functions are the same, or another
oracle has found something, such as a crash."""

EVERY = 0.2
"""Seconds between two measurements of the memory."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of the command."""

    code: int | None
    """The exit code; None if the command did not end in time."""
    events: Sequence[dict[str, Any]]
    error: str
    wall: float
    """Wall-clock seconds."""
    seconds: float
    """CPU time of the command and all of its processes."""
    megabytes: float
    """The peak memory of all of them together, shared pages counted once."""


def main(arguments: Sequence[str]) -> None:
    """Check the models and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.models")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of zoo.py; none: all")
    parser.add_argument("--seconds", type=float, default=600.0, help="for each model")
    parser.add_argument("--budget", default=BUDGET, help="that of relaxfuzz check")
    options = parser.parse_args(arguments)
    for name in options.names or MODELS:
        found = measure(name, options.seconds, options.budget)
        verdict = next((each for each in found.events if each["event"] == "framework"), None)
        fails = verdict is not None and verdict["not_built"] is not None
        why = explained(name, options.seconds) if fails else ""
        line = f"| {name} | {' | '.join(cells(found, why))} |"
        print(line, flush=True)
        _write(name, line)


def measure(name: str, seconds: float, budget: str) -> Measured:
    """Run the command on a model."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "relaxfuzz.fuzz.cli", "check", f"{ZOO}:{name}"]
        command += ["--budget", budget]
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
        wall = time.monotonic() - began
        return Measured(code, events, text[-1] if text else "", wall, used.seconds, used.megabytes)


def explained(name: str, seconds: float) -> str:
    """The answer of `relaxfuzz explain` on a model."""
    command = [sys.executable, "-m", "relaxfuzz.fuzz.cli", "explain", f"{ZOO}:{name}", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "not in time"
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    troubles = [each["title"] for each in events if each["event"] == "trouble"]
    return _short("; ".join(troubles)) or ("builds" if done.returncode == 0 else "fails")


class _Used:
    """CPU time and memory of a process and its descendants, measured now and then."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._times: dict[tuple[int, float], float] = {}

    @property
    def seconds(self) -> float:
        return sum(self._times.values())

    def look(self, pid: int) -> None:
        """Take the measurements now."""
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


def cells(found: Measured, explanation: str) -> Iterator[str]:
    """The cells of the table for one run."""
    verdict = next((each for each in found.events if each["event"] == "framework"), None)
    if verdict is None:
        why = found.error.partition("cannot be imported: ")[2] or found.error
        yield from (f"fails: {_short(why)}" if found.code is not None else "", "", "")
    else:
        yield "; ".join(_short(each) for each in verdict["types"]) or "same types"
        for kind in ("evaluated", "built"):
            yield _outcome(verdict[kind], verdict[f"not_{kind}"])
    yield explanation
    yield "not in time" if found.code is None else str(found.code)
    rows = [each for each in found.events if each["event"] == "finding"]
    yield "; ".join(f"{each['grade']} {each['pass']} ({each['oracle']})" for each in rows)
    yield str(sum(each["event"] == "known" for each in found.events))
    yield _compared(found.events)
    yield _unmade(found.events)
    yield f"{found.wall:.0f}"
    yield f"{found.seconds:.0f}"
    yield f"{found.megabytes:,.0f}"


def _outcome(other: str | None, none: str | None) -> str:
    if none is not None:
        return f"no value: {_short(none)}"
    return "as the framework" if other is None else _short(other)


def _short(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")[:120]


def _compared(events: Sequence[dict[str, Any]]) -> str:
    """The number of checks with values compared in NumPy, among passes that change the module.

    A check that ends at a finding, such as a crash, is left out.
    """
    events = [each for each in events if each["event"] == "asked" and each["pass"] is not None]
    asked = [each for each in events if each["oracle"] == "evaluated"]
    changing = [each for each in asked if not (each["reason"] or "").startswith(NOTHING)]
    return f"{sum(not each['silent'] for each in changing)} of {len(changing)}"


def _unmade(events: Sequence[dict[str, Any]]) -> str:
    """The number of checks that the budget did not suffice for, and their passes."""
    labels = [each["pass"] for each in events if each.get("reason") == UNMADE]
    names = dict.fromkeys(label.partition("(")[0] for label in labels)
    return _short(f"{len(labels)}: {', '.join(names)}") if labels else "0"


def _write(name: str, line: str) -> None:
    """Put the line of a model into the page, replacing an older one."""
    lines = {_name(old): old for old in part(PAGE, BEGIN, END).splitlines()}
    lines[name] = line
    ordered = [lines[each] for each in MODELS if each in lines]
    put(PAGE, "\n".join([*HEADER, *ordered]), BEGIN, END)


def _name(line: str) -> str:
    found = re.match(r"\| (\w+) \|", line)
    return found[1] if found else ""


if __name__ == "__main__":
    main(sys.argv[1:])
