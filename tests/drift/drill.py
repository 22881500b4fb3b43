"""A campaign on a TVM that is not what relaxfuzz was written for, and how it must end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .cases import Case

INJECTED = Path(__file__).with_name("injected")
MODULES = 20
SECONDS = 900.0
"""For one command, on a busy machine; an idle one takes 30."""

TROUBLE = ("Traceback (most recent call last)", "fault of relaxfuzz", "faults of relaxfuzz")
"""What no output may have."""

NAMING = ("drift", "new")
"""The events that name what is gone, and what is new."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    asked: frozenset[str]
    """Names that are gone and that were asked for."""

    @property
    def output(self) -> str:
        """All of it."""
        return self.stdout + self.stderr


def relaxfuzz(
    case: Case, folder: Path, *arguments: str, module: str = "relaxfuzz.fuzz.cli"
) -> Ending:
    """A command on the changed TVM, in processes of its own and with a cache of its own."""
    started = time.monotonic()
    asked = folder / "asked"
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "RELAXFUZZ_DRIFT": "\n".join(case.changes),
            "RELAXFUZZ_DRIFT_ASKED": str(asked),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPATH": os.pathsep.join([str(INJECTED), *filter(None, sys.path)]),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    seconds = time.monotonic() - started
    names = frozenset(asked.read_text().split()) if asked.exists() else frozenset()
    return Ending(process.returncode, process.stdout, process.stderr, seconds, names)


def campaign(case: Case, folder: Path) -> Ending:
    """A short campaign on all passes."""
    return relaxfuzz(case, folder, "run", "--modules", str(MODULES), "--seed", "1", "--json")


def wrong(case: Case, ending: Ending) -> list[str]:
    """What is not as it should be."""
    found = [f"the output has {text!r}" for text in TROUBLE if text in ending.output]
    if ending.code == 2 and case.vital:
        *progress, last = ending.stderr.strip().splitlines()
        if not last.startswith("error: ") or any(each.startswith("error") for each in progress):
            found.append("exit code 2, but not with one sentence")
        return [*found, *_unnamed(case, ending, ending.stderr)]
    if ending.code not in (0, 1):
        return [*found, f"exit code {ending.code}"]
    events = [json.loads(line) for line in ending.stdout.splitlines()]
    modules = [event["modules"] for event in events if event["event"] == "summary"]
    if modules != [MODULES]:
        found.append(f"{modules} modules were checked, not {MODULES}")
    faulty = {event["pass"] for event in events if event["event"] == "finding"}
    found += [f"no fault of {name} is found" for name in case.faulty if name not in faulty]
    reports = [json.dumps(event) for event in events if event["event"] in NAMING]
    return [*found, *_unnamed(case, ending, "\n".join(reports))]


def _unnamed(case: Case, ending: Ending, text: str) -> Iterator[str]:
    """A class or field that nobody has asked for may be gone unnoticed."""
    for name in case.missed:
        named = re.search(rf"\b{re.escape(name)}\b", text)
        if not named and (name.strip(".") in ending.asked or not case.vital):
            yield f"{name} is not named"
