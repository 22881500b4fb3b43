"""`python -m tests.specimens [NAME]...`: what `relaxfuzz run` finds in them, as a table.

Each is fuzzed as its author would: one command on a pass of one's own, with one worker. A confirmed
finding that blames a faulty pass is a hit and ends its campaign; of a correct pass, it is a false
alarm. With --whole, a faulty pass is fuzzed until its time is used up, and the rows that blame it
are counted: each has one fault, so it should be one row.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relaxfuzz.fuzz.process.launch import ONE_THREAD

from .specimen import Family, Specimen
from .table import SETS, SPECIMENS

ROOT = Path(__file__).parents[2]
RELAXFUZZ = (sys.executable, "-m", "relaxfuzz.fuzz.cli")
ENVIRONMENT = {**os.environ, **ONE_THREAD}

THOROUGH = 20
"""A correct pass is also checked by all oracles, on one module in so many; as in any campaign, the
expensive ones are otherwise sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """The time for which each specimen is fuzzed."""

    seed: int
    seconds: float
    """For a faulty pass."""
    modules: int
    """For a correct one, however long they take."""
    whole: bool
    """A faulty pass is fuzzed to the end of its time, not only until something is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The reports of the campaigns on one specimen."""

    oracle: str = ""
    """Of the first confirmed finding that blames the pass; empty: there is none."""
    seconds: float = 0.0
    """From the start of the command until that finding was reported, reduced."""
    modules: int = 0
    """Generated until the command ended."""
    rows: tuple[str, ...] = ()
    """The bugs that blame the pass: oracles and title."""
    others: tuple[str, ...] = ()
    """The bugs that blame something else."""
    errors: tuple[str, ...] = ()
    """Faults of relaxfuzz, the last line of each."""

    def then(self, later: Outcome) -> Outcome:
        """Both, of which the earlier one has found the first."""
        first = self if self.oracle else later
        return Outcome(
            oracle=first.oracle,
            seconds=self.seconds if self.oracle else self.seconds + later.seconds,
            modules=self.modules + later.modules,
            rows=self.rows + later.rows,
            others=self.others + later.others,
            errors=self.errors + later.errors,
        )


def hunt(specimen: Specimen, how: Hunt, out: Path) -> Outcome:
    """Fuzz a specimen by itself."""
    if specimen.family is not Family.CORRECT:
        budget = ["--budget", f"{how.seconds:g}s"]
        return campaign(specimen, budget, how.seed, out / "found", whole=how.whole)
    usual = ["--modules", str(how.modules)]
    every = ["--modules", str(max(1, how.modules // THOROUGH)), "--oracle", "all"]
    first, second = (
        campaign(specimen, budget, how.seed, out / name, whole=True)
        for name, budget in (("usual", usual), ("every", every))
    )
    return first.then(second)


def campaign(
    specimen: Specimen, budget: Iterable[str], seed: int, out: Path, *, whole: bool
) -> Outcome:
    """Run `relaxfuzz run` on one specimen."""
    command = [*RELAXFUZZ, "run", specimen.factory, *promises(specimen), *budget]
    command += ["--seed", str(seed), "--workers", "1", "--json", "--out", str(out)]
    found = Outcome()
    faults: list[str] = []
    began = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as stderr,
        subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process,
    ):
        assert process.stdout is not None
        ended = False
        for event in events(process.stdout):
            ended = event["event"] == "summary"
            if event["event"] == "fault":
                faults.append(event["text"].strip().splitlines()[-1])
            elif event["event"] == "summary":
                found = dataclasses.replace(found, modules=event["modules"])
            elif event["event"] == "finding" and not found.oracle and is_hit(event, specimen):
                seconds = time.monotonic() - began
                found = dataclasses.replace(found, oracle=event["oracle"], seconds=seconds)
                if not whole:
                    process.send_signal(signal.SIGINT)
        if not ended:
            process.wait()
            stderr.seek(0)
            faults.append((stderr.read().strip().splitlines() or ["no message"])[-1])
    if not found.oracle:
        found = dataclasses.replace(found, seconds=time.monotonic() - began)
    own, others = rows(specimen, out)
    return dataclasses.replace(found, rows=own, others=others, errors=tuple(faults))


def promises(specimen: Specimen) -> Iterator[str]:
    """The options that state the contract of the pass, and the modules that it takes."""
    if specimen.like is not None:
        yield from ("--like", specimen.like)
    if specimen.modules is not None:
        yield from ("--family", specimen.modules)
    for stage in specimen.stages:
        yield from ("--stage", stage)
    for oracle in specimen.exempt:
        yield from ("--exempt", oracle)


def rows(specimen: Specimen, out: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rows of a folder of findings: those that blame the pass, and the others."""
    if not out.exists():
        return (), ()
    command = [*RELAXFUZZ, "findings", str(out), "--json"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    own, others = [], []
    for event in events(done.stdout.splitlines()):
        if event["event"] == "row":
            of_pass = any(blames(name, specimen) for name in event["passes"])
            text = f"{event['id']} {', '.join(event['oracles'])}: {event['title']}"
            (own if of_pass else others).append(text)
    return tuple(own), tuple(others)


def events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects in these lines."""
    return map(json.loads, filter(str.strip, lines))


def blames(name: str, specimen: Specimen) -> bool:
    """The name in a report is that of the pass."""
    return name.partition("(")[0] == specimen.name


def is_hit(finding: Mapping[str, Any], specimen: Specimen) -> bool:
    """A finding of a campaign blames the pass; a hint may be of a correct one."""
    certain = finding["confirmed"] and not finding["hint"]
    return certain and blames(finding["pass"], specimen)


def is_right(specimen: Specimen, outcome: Outcome) -> bool:
    """A faulty pass was found, or nothing was reported of a correct one."""
    return bool(outcome.oracle) is not (specimen.family is Family.CORRECT)


HEADER = f"{'pass':34} {'found by':24} {'modules':>7} {'seconds':>7} {'rows':>4}"


def lines(specimen: Specimen, outcome: Outcome) -> Iterator[str]:
    """The printed lines of a specimen."""
    verdict = outcome.oracle or ("nothing" if is_right(specimen, outcome) else "NOT FOUND")
    yield (
        f"{specimen.name:34} {verdict:24} {outcome.modules:7} {outcome.seconds:7.1f} "
        f"{len(outcome.rows):4}"
    )
    if not is_right(specimen, outcome) or len(outcome.rows) > 1:
        yield from (f"    {row}" for row in outcome.rows)
    yield from (f"    not of the pass: {row}" for row in outcome.others)
    yield from (f"    fault of relaxfuzz: {error}" for error in outcome.errors)


def summary(outcomes: Mapping[str, Outcome]) -> str:
    """The number that was found, how soon, in how many rows, and the false alarms."""
    faulty = {n: o for n, o in outcomes.items() if SPECIMENS[n].family is not Family.CORRECT}
    found = {name: outcome for name, outcome in faulty.items() if outcome.oracle}
    alarms = sum(bool(o.oracle) for name, o in outcomes.items() if name not in faulty)
    text = f"{len(found)} of {len(faulty)} found"
    if found:
        seconds = sorted(outcome.seconds for outcome in found.values())
        each = statistics.mean(len(outcome.rows) for outcome in found.values())
        most = max(found, key=lambda name: len(found[name].rows))
        text += (
            f", half of them in {statistics.median(seconds):.1f} s, "
            f"90 % in {seconds[9 * len(seconds) // 10]:.1f} s; {each:.2f} rows each, "
            f"at most {len(found[most].rows)} ({most})"
        )
    return f"{text}; {alarms} false alarms on {len(outcomes) - len(faulty)} correct passes"


def chosen(names: Iterable[str]) -> list[Specimen]:
    """The specimens of these names, sets and families; all of them where none is named.

    Raises:
        ValueError: there is none of a name.
    """
    known: dict[str, tuple[Specimen, ...]] = {
        **SETS,
        **{
            family.name.lower(): tuple(s for s in SPECIMENS.values() if s.family is family)
            for family in Family
        },
        **{name: (specimen,) for name, specimen in SPECIMENS.items()},
    }
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"no such specimens: {', '.join(unknown)}; known are {', '.join(known)}")
    named = (specimen for name in names for specimen in known[name])
    return list({specimen.name: specimen for specimen in named}.values()) or [*SPECIMENS.values()]


def main() -> int:
    """Print the table; 0 if every verdict is right, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.specimens", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"Only these: specimens, families ({', '.join(f.name.lower() for f in Family)}) or "
        f"sets ({', '.join(SETS)}).",
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="For each faulty pass.")
    parser.add_argument("--modules", type=int, default=2000, help="For each correct pass.")
    parser.add_argument(
        "--whole", action="store_true", help="Use all the time on each fault, and count its rows."
    )
    parser.add_argument("--jobs", type=int, default=1, help="Campaigns at a time.")
    parser.add_argument("--seed", type=int, default=0, help="The same seed gives the same modules.")
    parser.add_argument("--out", type=Path, help="Where to keep the findings. Default: nowhere.")
    options = parser.parse_args()
    try:
        specimens = chosen(options.names)
    except ValueError as error:
        parser.error(str(error))
    how = Hunt(
        seed=options.seed, seconds=options.seconds, modules=options.modules, whole=options.whole
    )
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="specimens-") as temporary:
        folder = (options.out or Path(temporary)).resolve()

        def run(specimen: Specimen) -> Outcome:
            out = folder / specimen.name
            out.mkdir(parents=True, exist_ok=True)
            return hunt(specimen, how, out)

        print(HEADER)
        with ThreadPoolExecutor(options.jobs) as pool:
            for specimen, outcome in zip(specimens, pool.map(run, specimens), strict=True):
                outcomes[specimen.name] = outcome
                print(*lines(specimen, outcome), sep="\n", flush=True)
    print(summary(outcomes))
    wrong = any(outcome.errors for outcome in outcomes.values())
    right = all(is_right(specimen, outcomes[specimen.name]) for specimen in specimens)
    return 0 if right and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
