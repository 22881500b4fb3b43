"""`python -m tests.first_drafts [NAME]...`: what `relaxfuzz run` finds in them, as a table.

Each is fuzzed as its author would: one command on a pass of one's own, with the strict contract and
one worker. A confirmed finding that blames the pass is a hit; of a correct pass, a false alarm.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from relaxfuzz.fuzz.process.launch import ONE_THREAD

from . import SETS, SPECIMENS, Specimen

HEADER = f"{'pass':30} {'kind':10} {'found by':24} {'after':>7} {'rows':>5} {'others':>6}"
FAILED = 2
"""From this exit code on, `relaxfuzz run` came to no verdict: an error, its own or the user's."""


class Outcome(NamedTuple):
    """What one campaign found."""

    oracle: str = ""
    """Of the first confirmed finding that blames the pass; empty: there is none."""
    seconds: float = 0.0
    """From the start of the command until that finding was reported, reduced."""
    rows: int = 0
    """Bugs that blame the pass."""
    others: int = 0
    """Bugs that blame something else."""
    error: str = ""
    """The end of what the command printed, if it did not come to a verdict."""


def campaign(specimen: Specimen, seconds: float, seed: int, out: Path) -> Outcome:
    """Run `relaxfuzz run` on one specimen."""
    arguments = ["--budget", f"{seconds:g}s", "--seed", str(seed), "--workers", "1"]
    began = time.monotonic()
    found = Outcome()
    with tempfile.TemporaryFile("w+") as stderr:
        command = [*RELAXFUZZ, "run", specimen.target, *arguments, "--out", str(out), "--json"]
        with subprocess.Popen(
            command,
            cwd=out.parent,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process:
            assert process.stdout is not None
            for event in events(process.stdout):
                if event["event"] != "finding" or not event["confirmed"] or found.oracle:
                    continue
                if blamed(event["pass"], specimen) and not event["hint"]:
                    found = Outcome(event["oracle"], time.monotonic() - began)
        if process.returncode >= FAILED or process.returncode < 0:
            stderr.seek(0)
            return found._replace(error=(stderr.read().strip().splitlines() or ["no message"])[-1])
    if process.returncode == 0:
        return found
    rows = [row["passes"] for row in listed(out) if row["event"] == "row"]
    own = sum(any(blamed(name, specimen) for name in passes) for passes in rows)
    return found._replace(rows=own, others=len(rows) - own)


RELAXFUZZ = (sys.executable, "-m", "relaxfuzz.fuzz.cli")
ENVIRONMENT = {**os.environ, **ONE_THREAD}


def listed(out: Path) -> Iterator[dict[str, Any]]:
    """The bugs in a folder of findings."""
    command = [*RELAXFUZZ, "findings", str(out), "--json"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return events(done.stdout.splitlines())


def events(lines: Any) -> Iterator[dict[str, Any]]:
    """The JSON objects in these lines."""
    return map(json.loads, filter(str.strip, lines))


def blamed(name: str, specimen: Specimen) -> bool:
    """The name in a report is that of the specimen."""
    return name.partition("(")[0] == specimen.name


def line(specimen: Specimen, outcome: Outcome) -> str:
    """A line of the table."""
    if outcome.error:
        return f"{specimen.name:30} {specimen.kind:10} error: {outcome.error}"
    nothing = "nothing" if specimen.kind == "correct" else "NOT FOUND"
    after = f"{outcome.seconds:5.1f} s" if outcome.oracle else ""
    return (
        f"{specimen.name:30} {specimen.kind:10} {outcome.oracle or nothing:24} {after:>7} "
        f"{outcome.rows:5} {outcome.others:6}"
    )


def summary(outcomes: dict[Specimen, Outcome]) -> str:
    """The last line: how many were found, at how many rows each, and the false alarms."""
    faulty = {s: o for s, o in outcomes.items() if s.kind != "correct"}
    hits = [outcome for outcome in faulty.values() if outcome.oracle]
    each = sum(outcome.rows for outcome in hits) / max(len(hits), 1)
    alarms = sum(bool(o.oracle) for s, o in outcomes.items() if s.kind == "correct")
    correct = len(outcomes) - len(faulty)
    return (
        f"{len(hits)} of {len(faulty)} found, {each:.1f} rows each; "
        f"{alarms} false alarms on {correct} correct passes"
    )


def main() -> None:
    """Print the table."""
    known = {**SETS, **{specimen.name: (specimen,) for specimen in SPECIMENS}}
    parser = argparse.ArgumentParser(prog="python -m tests.first_drafts", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"Only these passes, or sets of them: {', '.join(SETS)}.",
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="The budget of each campaign.")
    parser.add_argument("--jobs", type=int, default=1, help="Campaigns at a time.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="Where to keep the findings. Default: nowhere.")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no such passes: {', '.join(unknown)}; known are {', '.join(known)}")
    named = (specimen for name in options.names for specimen in known[name])
    chosen = list(dict.fromkeys(named)) or list(SPECIMENS)
    with tempfile.TemporaryDirectory(prefix="first-drafts-") as temporary:
        folder = (options.out or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)

        def run(specimen: Specimen) -> Outcome:
            return campaign(specimen, options.seconds, options.seed, folder / specimen.name)

        print(HEADER)
        outcomes = {}
        with ThreadPoolExecutor(options.jobs) as pool:
            for specimen, outcome in zip(chosen, pool.map(run, chosen), strict=True):
                outcomes[specimen] = outcome
                print(line(specimen, outcome), flush=True)
    print(summary(outcomes))


if __name__ == "__main__":
    main()
