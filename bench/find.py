"""`make bench-find OLD=path/to/checkout`: the time until campaigns meet the known bugs, as unknown.

Two checkouts fuzz at the same time, with one worker each, so that other work on the machine slows
both; each is the `relaxfuzz` of its own environment. A known bug is found when a campaign meets the
first report of it. Only bugs with a record in all compared checkouts count, by its name; bugs that
a campaign does not find count as found after its end.

If other work runs on the machine, only CPU time is meaningful; it is that of all processes.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from relaxfuzz.compat.release import versions
from relaxfuzz.corpus.knowns import Lookup, identity_from, knowns
from relaxfuzz.oracles.tiers import ORACLES

from .checks import Costs, measure
from .meetings import LEARNERS
from .versus import HERE, programs_of

MEETINGS = Path(__file__).with_name("meetings.py")

MINUTES = (5, 20, 60)
PARTS = (0.1, 0.25, 0.5, 0.9)
"""Parts of the wanted bugs; the time until each part is found is shown."""

CLOCKS = ("seconds", "cpu")


@dataclass(frozen=True, slots=True)
class Met:
    """The first report of one key."""

    seconds: float
    cpu: float
    names: frozenset[str]
    """The records of known bugs that may explain the report."""
    oracle: str
    item: str
    """The item of the schedule: a pass, "sequence", or a pipeline."""
    stage: str


@dataclass(frozen=True, slots=True)
class Campaign:
    """The reports of one campaign, and its cost."""

    knowns: frozenset[str]
    """The records of its checkout."""
    met: tuple[Met, ...]
    budget: float
    end: Mapping[str, Any] = field(default_factory=dict)
    """The last event; empty if the campaign did not end regularly."""

    def first(self) -> dict[str, Met]:
        """The first report of each record."""
        found: dict[str, Met] = {}
        for met in self.met:
            for name in met.names:
                found.setdefault(name, met)
        return found

    def lasted(self, clock: str) -> float:
        """The duration of the campaign."""
        last = getattr(self.met[-1], clock) if self.met else 0.0
        return float(self.end.get(clock, last))


def campaign(lines: Iterable[str], lookup: Lookup) -> Campaign:
    """Read the lines of `meetings.py`.

    Args:
        lookup: also names reports, as a checkout's record may not cover a reported bug yet.
    """
    start: Mapping[str, Any] = {"knowns": (), "budget": 0.0}
    end: Mapping[str, Any] = {}
    met: list[Met] = []
    for line in lines:
        match json.loads(line):
            case {"event": "start"} as start:
                pass
            case {"event": "end"} as end:
                pass
            case {"event": "met"} as event:
                found = lookup.of(identity_from(event["identity"]), event["made_of"])
                names = {*event["names"], *(known.name for known in found)}
                met.append(
                    Met(
                        event["seconds"],
                        event["cpu"],
                        frozenset(names),
                        event["oracle"],
                        event["item"],
                        event["stage"],
                    )
                )
    return Campaign(frozenset(start["knowns"]), tuple(met), start["budget"], end)


@dataclass(frozen=True, slots=True)
class Times:
    """The time until each wanted bug was found, in each campaign; infinite if it was not."""

    each: tuple[float, ...]
    wanted: int
    lasted: float

    @classmethod
    def of(cls, campaigns: Sequence[Campaign], wanted: Iterable[str], clock: str) -> Times:
        """The times of several campaigns, taken together."""
        wanted = sorted(wanted)
        found = [campaign.first() for campaign in campaigns]
        times = [
            getattr(first[name], clock) if name in first else math.inf
            for first in found
            for name in wanted
        ]
        lasted = min(campaign.lasted(clock) for campaign in campaigns)
        return cls(tuple(sorted(times)), len(wanted), lasted)

    def until(self, part: float) -> float:
        """The seconds until this share of the wanted bugs is found."""
        return self.each[max(0, math.ceil(part * len(self.each)) - 1)]

    def within(self, seconds: float) -> float:
        """The number of wanted bugs found in this time, on average over the campaigns."""
        return sum(each <= seconds for each in self.each) * self.wanted / len(self.each)

    @property
    def found(self) -> float:
        """The same for the whole time."""
        return self.within(self.lasted)


def run(
    programs: Mapping[str, Sequence[Path | str]], seconds: float, seed: int, folder: Path
) -> dict[str, Path]:
    """Fuzz with each of these programs at the same time; the files of events, by name.

    Args:
        programs: an interpreter, followed by further arguments of `meetings.py`.
    """
    files = {name: folder / f"{name}-seed{seed}.jsonl" for name in programs}
    with ExitStack() as stack:
        running = [
            subprocess.Popen(
                [python, MEETINGS, str(seconds), str(seed), *options],
                stdout=stack.enter_context(files[name].open("w")),
                cwd=folder,
            )
            for name, (python, *options) in programs.items()
        ]
        for process in running:
            if process.wait():
                raise SystemExit(f"{process.args!r} failed with exit code {process.returncode}")
    return files


def show_times(runs: Mapping[str, Sequence[Campaign]], wanted: frozenset[str]) -> Table:
    """The times until parts of the bugs are found; the counts in the first minutes and in total."""
    every = {each.knowns for campaigns in runs.values() for each in campaigns}
    apart = len(frozenset().union(*every) - wanted)
    table = _table(f"{len(wanted)} known bugs; {apart} more that not all have a record of")
    for column in ("", "clock", *(f"{part:.0%}" for part in PARTS)):
        table.add_column(column, justify="right" if column else "left")
    for minutes in MINUTES:
        table.add_column(f"{minutes} min", justify="right")
    table.add_column("found", justify="right")
    table.add_column("in", justify="right")
    for clock in CLOCKS:
        for name, campaigns in runs.items():
            times = Times.of(campaigns, wanted, clock)
            table.add_row(
                name,
                "CPU" if clock == "cpu" else "wall",
                *(_seconds(times.until(part), times.lasted) for part in PARTS),
                *(_count(times, 60 * minutes) for minutes in MINUTES),
                f"{times.found:.4g}",
                f"{times.lasted:.0f} s",
            )
    return table


def _seconds(value: float, lasted: float) -> str:
    return f"{value:.0f} s" if value < math.inf else f">{lasted:.0f} s"


def _count(times: Times, seconds: float) -> str:
    return f"{times.within(seconds):.4g}" if seconds <= times.lasted else ""


@dataclass(slots=True)
class Yield:
    """The cost of one part of the schedule, and its yield."""

    checks: int = 0
    seconds: float = 0.0
    first: int = 0
    """Known bugs that it met first."""
    alone: int = 0
    """Known bugs that nothing else met."""


def yields(campaigns: Sequence[Campaign], costs: Costs) -> dict[str, dict[str, Yield]]:
    """The yields by kind ("oracle", "item", "stage") and name.

    Args:
        costs: the cost of each oracle; other oracles, such as those of pipelines, are timed
            together and have no time here.
    """
    found: dict[str, defaultdict[str, Yield]] = {
        kind: defaultdict(Yield) for kind in ("oracle", "item", "stage")
    }
    for campaign in campaigns:
        met_by: dict[str, list[Met]] = defaultdict(list)
        for met in campaign.met:
            for name in met.names:
                met_by[name].append(met)
        for kind, of in found.items():
            for reports in met_by.values():
                of[getattr(reports[0], kind)].first += 1
                by = {getattr(each, kind) for each in reports}
                if len(by) == 1:
                    of[by.pop()].alone += 1
            for name, (checks, seconds) in _spent(campaign, kind, costs).items():
                of[name].checks += checks
                of[name].seconds += seconds
    return {kind: dict(of) for kind, of in found.items()}


def _spent(campaign: Campaign, kind: str, costs: Costs) -> dict[str, tuple[int, float]]:
    """Checks and seconds of one campaign, by name."""
    stats = campaign.end.get("stats", {})
    if kind == "item":
        return {name: (each["checks"], each["seconds"]) for name, each in stats.items()}
    if kind == "stage":
        return {name: tuple(each) for name, each in campaign.end.get("stages", {}).items()}
    checks = sum(each["checks"] for each in stats.values())
    asked = {name: checks for name, oracle in ORACLES.items() if oracle.tier == 1}
    for each in stats.values():
        for name, count in each["sampled"].items():
            asked[name] = asked.get(name, 0) + count
    each_costs = {
        name: costs.spent[name] / costs.calls[name] for name in costs.calls if costs.calls[name]
    }
    return {name: (count, count * each_costs.get(name, 0.0)) for name, count in asked.items()}


def show_yields(kind: str, of: Mapping[str, Yield]) -> Table:
    """A table of the yields, the best first."""
    table = _table(f"by {kind}")
    for column in (kind, "checks", "seconds", "share", "first", "alone", "first in 100 s"):
        table.add_column(column, justify="left" if column == kind else "right")
    whole = sum(each.seconds for each in of.values())

    def rate(each: Yield) -> float:
        return each.first / each.seconds if each.seconds else 0.0

    for name, each in sorted(of.items(), key=lambda pair: (-rate(pair[1]), pair[0])):
        table.add_row(
            name,
            str(each.checks),
            f"{each.seconds:.1f}",
            f"{each.seconds / whole:.1%}" if whole else "",
            str(each.first),
            str(each.alone),
            f"{100 * rate(each):.1f}" if each.seconds else "",
        )
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))


def main() -> None:
    """Fuzz, or read saved events, and print the tables."""
    parser = argparse.ArgumentParser(prog="make bench-find", description=__doc__)
    parser.add_argument("old", type=Path, nargs="?", help="another checkout, with .venv")
    parser.add_argument(
        "--without", choices=LEARNERS, help="this checkout, without one thing that it learns"
    )
    parser.add_argument("--budget", type=float, default=1200, help="seconds of each campaign")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--save", type=Path, help="keep the events in this folder")
    parser.add_argument(
        "--events",
        nargs="+",
        action="append",
        default=[],
        metavar=("NAME", "FILE"),
        help="do not fuzz: read saved events of one checkout, one file for each seed",
    )
    parser.add_argument("--of", type=Path, help="only bugs that this checkout has a record of")
    parser.add_argument(
        "--yield",
        dest="yields",
        action="store_true",
        help="also what each oracle, pass and stage of the last checkout has found in its time",
    )
    parser.add_argument("--modules", type=int, default=96, help="on which oracles are timed")
    options = parser.parse_args()
    if not options.events and options.old is None and options.without is None:
        parser.error("give another checkout, --without or --events")
    lookup = Lookup(knowns(), versions()["tvm"])
    runs: dict[str, list[Campaign]] = {}

    def read(name: str, file: Path) -> None:
        runs.setdefault(name, []).append(campaign(file.read_text().splitlines(), lookup))

    for name, *files in options.events:
        for file in files:
            read(name, Path(file))
    if not options.events:
        programs: dict[str, tuple[Path | str, ...]] = {"new": (HERE / "python",)}
        if options.without is not None:
            switched = (HERE / "python", "--without", options.without)
            programs = {f"without {options.without}": switched, **programs}
        if options.old is not None:
            programs = {"old": (programs_of(options.old) / "python",), **programs}
        with ExitStack() as stack:
            folder = options.save or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.mkdir(parents=True, exist_ok=True)
            for seed in options.seed:
                for name, file in run(programs, options.budget, seed, folder).items():
                    read(name, file)
    wanted = frozenset.intersection(*(each.knowns for some in runs.values() for each in some))
    if options.of is not None:
        wanted &= {path.stem for path in (options.of / "corpus" / "found").glob("*.toml")}
    console = Console()
    console.print(show_times(runs, wanted))
    if options.yields:
        costs = measure(options.seed[0], options.modules).oracles
        for kind, of in yields([*runs.values()][-1], costs).items():
            console.print(show_yields(kind, of))


if __name__ == "__main__":
    main()
