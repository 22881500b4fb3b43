"""A campaign on a TVM that is not what relaxfuzz was written for, and how it must end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .cases import Case

INJECTED = Path(__file__).with_name("injected")
MODULES = 20
SECONDS = 400.0
"""For one command, on a busy machine; an idle one takes 30."""

TROUBLE = {
    "a traceback": "Traceback (most recent call last)",
    "a fault of relaxfuzz": "fault of relaxfuzz",
    "a fault in the summary": "faults of relaxfuzz",
}
"""What no output may have."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended."""

    code: int
    output: str
    """Both of its streams."""
    seconds: float


def relaxfuzz(
    case: Case, folder: Path, *arguments: str, module: str = "relaxfuzz.fuzz.cli"
) -> Ending:
    """A command on the changed TVM, in processes of its own and with a cache of its own."""
    started = time.monotonic()
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "RELAXFUZZ_DRIFT": "\n".join(case.changes),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPATH": os.pathsep.join([str(INJECTED), *filter(None, sys.path)]),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    return Ending(process.returncode, process.stdout, time.monotonic() - started)


def campaign(case: Case, folder: Path) -> Ending:
    """A short campaign on all passes."""
    return relaxfuzz(case, folder, "run", "--modules", str(MODULES), "--seed", "1")


def wrong(case: Case, ending: Ending) -> list[str]:
    """What is not as it should be."""
    output = ending.output
    found = [f"the output has {what}" for what, text in TROUBLE.items() if text in output]
    unnamed = [name for name in case.missed if not re.search(rf"\b{re.escape(name)}\b", output)]
    if unnamed:
        found.append(f"{', '.join(unnamed)} not named")
    if ending.code == 2 and case.vital:
        errors = [line for line in output.splitlines() if line.startswith("error: ")]
        if len(errors) != 1 or len(output.strip().splitlines()) > 2:
            found.append("exit code 2, but not with one sentence")
    elif ending.code not in (0, 1):
        found.append(f"exit code {ending.code}")
    elif f"in {MODULES} modules" not in output:
        found.append(f"not all {MODULES} modules were checked")
    return found
