"""`python -m tests.faulty_passes.measure [NAME]...`: in how many rows is each mistake reported?

Each pass is fuzzed as its author would: one command on a pass of one's own, with the strict
contract and one worker. A row that blames the pass is of its mistake, for it has only one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from relaxfuzz.fuzz.process.launch import ONE_THREAD

from . import FAMILIES, FAULTY

RELAXFUZZ = (sys.executable, "-m", "relaxfuzz.fuzz.cli")
ENVIRONMENT = {**os.environ, **ONE_THREAD}
HEADER = f"{'pass':28} {'found':9} {'rows':>4} {'reports':>7} {'modules':>7}"


class Row(NamedTuple):
    """A bug that a campaign reported."""

    id: str
    oracles: tuple[str, ...]
    passes: tuple[str, ...]
    title: str
    identities: tuple[tuple[str, ...], ...]
    """Of its findings."""


class Outcome(NamedTuple):
    """The reports of one campaign."""

    rows: tuple[Row, ...] = ()
    """Bugs that blame the pass."""
    others: tuple[Row, ...] = ()
    """Bugs that blame something else."""
    reports: int = 0
    modules: int = 0
    faults: tuple[str, ...] = ()
    """Of relaxfuzz itself, the last line of each."""


def campaign(specimen: str, seconds: float, seed: int, out: Path) -> Outcome:
    """Run `relaxfuzz run` on one pass."""
    file, _, factory = specimen.partition(":")
    family = ("--family", FAMILIES[file]) if file in FAMILIES else ()
    target = f"{Path(__file__).parent / specimen}"
    arguments = ["--budget", f"{seconds:g}s", "--workers", "1", "--seed", str(seed), "--json"]
    command = [*RELAXFUZZ, "run", target, *family, *arguments, "--out", str(out)]
    done = subprocess.run(
        command, cwd=out.parent, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    identities: dict[str, tuple[str, ...]] = {}
    faults, reports, modules = [], 0, 0
    for event in events(done.stdout):
        if event["event"] == "finding":
            identities[event["id"]] = said(event["identity"])
        elif event["event"] == "fault":
            faults.append(event["text"].strip().splitlines()[-1])
        elif event["event"] == "summary":
            reports, modules = event["reports"], event["modules"]
    if not modules:
        faults.append((done.stderr.strip().splitlines() or ["no message"])[-1])
    identities |= shown(out)
    rows = [row_of(each, identities) for each in listed(out)]
    own = tuple(row for row in rows if any(blames(name, factory) for name in row.passes))
    others = tuple(row for row in rows if row not in own)
    return Outcome(own, others, reports, modules, tuple(faults))


def listed(out: Path) -> Iterator[dict[str, Any]]:
    """The rows of a folder of findings."""
    if not out.exists():
        return
    command = [*RELAXFUZZ, "findings", str(out), "--json"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    yield from (each for each in events(done.stdout) if each["event"] == "row")


def shown(out: Path) -> dict[str, tuple[str, ...]]:
    """The identities of findings by which rows are shown: some joined a row without an event."""
    if not out.exists():
        return {}
    report = out / "report.jsonl"
    command = [*RELAXFUZZ, "report", str(out), "--jsonl", str(report)]
    subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True)
    bugs = (json.loads(line) for line in report.read_text().splitlines())
    return {bug["id"]: said(bug["identity"]) for bug in bugs if bug["kind"] == "finding"}


def said(identity: dict[str, Any]) -> tuple[str, ...]:
    """The fields of an identity, as text."""
    return tuple(str(field) for field in identity.values())


def row_of(event: dict[str, Any], identities: dict[str, tuple[str, ...]]) -> Row:
    """The row of an event, with the identities of its findings."""
    ids = [each["id"] for each in event["findings"]]
    return Row(
        event["id"],
        tuple(event["oracles"]),
        tuple(event["passes"]),
        event["title"],
        tuple(identities[each] for each in ids if each in identities),
    )


def events(lines: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in these lines."""
    return map(json.loads, filter(str.strip, lines.splitlines()))


def blames(name: str, factory: str) -> bool:
    """The name in a report is that of the pass."""
    return name.partition("(")[0] == factory


def lines(specimen: str, outcome: Outcome) -> Iterator[str]:
    """The printed lines of a pass."""
    name = specimen.partition(":")[2]
    found = "found" if outcome.rows else "NOT FOUND"
    yield (
        f"{name:28} {found:9} {len(outcome.rows):4} {outcome.reports:7} {outcome.modules:7}"
    ).rstrip()
    for row in outcome.rows:
        yield from described("", row)
    for row in outcome.others:
        yield from described("not of the pass: ", row)
    for fault in outcome.faults:
        yield f"    fault of relaxfuzz: {fault}"


def described(prefix: str, row: Row) -> Iterator[str]:
    """A row, and below it the identities of its findings."""
    yield f"    {prefix}{row.id} {', '.join(row.oracles)}: {row.title}"
    for identity in row.identities:
        yield f"        {' | '.join(identity)}"


def summary(outcomes: dict[str, Outcome]) -> str:
    """The number that was found, the rows of each, and the worst."""
    rows = {name: len(outcome.rows) for name, outcome in outcomes.items() if outcome.rows}
    text = f"{len(rows)} of {len(outcomes)} found"
    if not rows:
        return text
    most = max(rows.values())
    worst = ", ".join(name.partition(":")[2] for name, count in rows.items() if count == most)
    mean = sum(rows.values()) / len(rows)
    return f"{text}, {mean:.2f} rows each; the worst: {most} ({worst})"


def main() -> None:
    """Print the table."""
    known = {specimen.partition(":")[2]: specimen for specimen in FAULTY}
    parser = argparse.ArgumentParser(
        prog="python -m tests.faulty_passes.measure", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="Only these passes.")
    parser.add_argument("--seconds", type=float, default=30.0, help="The budget of each campaign.")
    parser.add_argument("--jobs", type=int, default=2, help="Campaigns at a time.")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", type=Path, help="Where to keep the findings. Default: nowhere.")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no such passes: {', '.join(unknown)}; known are {', '.join(known)}")
    chosen = [known[name] for name in options.names or known]
    with tempfile.TemporaryDirectory(prefix="faulty-passes-") as temporary:
        folder = (options.out or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)

        def run(specimen: str) -> Outcome:
            out = folder / specimen.partition(":")[2]
            return campaign(specimen, options.seconds, options.seed, out)

        print(HEADER)
        outcomes = {}
        with ThreadPoolExecutor(options.jobs) as pool:
            for specimen, outcome in zip(chosen, pool.map(run, chosen), strict=True):
                outcomes[specimen] = outcome
                print(*lines(specimen, outcome), sep="\n", flush=True)
    print(summary(outcomes))


if __name__ == "__main__":
    main()
