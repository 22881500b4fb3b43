"""Tables by pass: how often each was checked, and its bugs and checks by oracle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from ...oracles.catalogue import catalogue, contract_of
from ...oracles.check import OF_PIPELINES, ORACLES
from ...oracles.contract import PassContract
from ...oracles.oracle import Oracle
from ...oracles.pipelines import PIPELINES
from ..findings.confirm import DEATHS
from ..process.targets import PassStats, is_own
from .data import Report, State

TIERS = {1: "structural", 2: "metamorphic", 3: "evaluated", 4: "executed"}

SEQUENCE = "sequence"
"""The schedule's name for random lists of passes."""

ON_LISTS = {"crash", "well-formed", "sequential"}
ON_PIPELINES = {"crash", "well-formed", "lowering-complete", *OF_PIPELINES}
"""Oracles that run on lists of passes and on pipelines; the others run on single passes."""


RARE = 0.05
"""A pass that applies to a smaller share of modules is hardly checked."""


@dataclass(frozen=True, slots=True)
class Column:
    """An oracle, or a way for a process to die."""

    name: str
    promise: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The results of one oracle on one pass."""

    new: int
    """Bugs that are not known."""
    known: int
    """Bugs that are, or were, known."""
    checks: int
    """Checks in which the oracle ran."""
    skipped: str = ""
    """Why the oracle does not run on the pass; empty where it does."""


@dataclass(frozen=True, slots=True)
class Row:
    """A pass, a list or pipeline of passes, or an operator that is blamed."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Columns in groups; rows that were checked, and other blamed names."""

    groups: Mapping[str, tuple[Column, ...]]
    rows: tuple[Row, ...]
    others: tuple[Row, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of all groups."""
        return tuple(column for group in self.groups.values() for column in group)


def matrix(report: Report) -> Matrix:
    """Bugs and checks of all runs of a store."""
    bugs: dict[tuple[str, str], list[State]] = defaultdict(list)
    for entry in report.entries:
        for place in entry.places:
            bugs[place].append(entry.state)
    stats: dict[str, PassStats] = defaultdict(PassStats)
    own = {bare(item) for item in report.stats if is_own(item)}
    for item in in_order(report.stats):
        stats[bare(item)] += report.stats[item]
    sampled = {oracle for each in stats.values() for oracle in each.sampled}
    groups = _groups({oracle for _, oracle in bugs} | sampled & ORACLES.keys())
    columns = [column.name for group in groups.values() for column in group]

    def row(name: str) -> Row:
        contract = None if name in own else contract_of(name)
        cells = (_cell(name, oracle, contract, stats[name], bugs) for oracle in columns)
        return Row(name, tuple(cells))

    rows = list(stats)
    others = sorted({name for name, _ in bugs} - set(rows))
    return Matrix(groups, tuple(map(row, rows)), tuple(map(row, others)))


def in_order(items: Iterable[str]) -> list[str]:
    """A user's passes, then TVM's in the order of the catalogue, then lists and pipelines."""
    order = {name: number for number, name in enumerate((*catalogue, SEQUENCE, *PIPELINES))}
    return sorted(items, key=lambda i: (-1 if is_own(i) else order.get(bare(i), -1), i))


def is_single(item: str) -> bool:
    """A pass, not a list or a pipeline."""
    return item != SEQUENCE and item not in PIPELINES


def bare(item: str) -> str:
    """The pass of an item of the schedule: "FuseOps" of "FuseOps(fuse_opt_level=2)"."""
    return item.split("(", 1)[0].rsplit(".", 1)[-1]


def _groups(met: Set[str]) -> dict[str, tuple[Column, ...]]:
    deaths = sorted(DEATHS.intersection(met))
    groups: dict[str, tuple[Column, ...]] = {}
    if deaths:
        promise = "A pass never takes the process with it."
        groups["died"] = tuple(Column(name, promise) for name in deaths)
    for tier, title in TIERS.items():
        asked = [each for each in ORACLES.values() if not each.on_request or each.name in met]
        of_tier = [oracle for oracle in asked if oracle.tier == tier]
        groups[title] = tuple(Column(oracle.name, oracle.promise) for oracle in of_tier)
    others = sorted(set(met) - DEATHS - set(ORACLES))
    if others:
        groups["others"] = tuple(Column(name, "") for name in others)
    return groups


def _cell(
    name: str,
    oracle: str,
    contract: PassContract | None,
    stats: PassStats,
    bugs: Mapping[tuple[str, str], list[State]],
) -> Cell:
    states = bugs.get((name, oracle), [])
    new = sum(state in (State.NEW, State.SEEN) for state in states)
    skipped = _skipped(name, ORACLES[oracle], contract) if oracle in ORACLES else ""
    every_check = oracle in DEATHS or (oracle in ORACLES and ORACLES[oracle].tier == 1)
    checks = stats.checks if every_check else stats.sampled.get(oracle, 0)
    return Cell(new, len(states) - new, 0 if skipped else checks, skipped)


def _skipped(name: str, oracle: Oracle, contract: PassContract | None) -> str:
    """Why an oracle does not run on a pass; empty where it does."""
    of_pipelines = oracle.name in OF_PIPELINES
    if not is_single(name):
        if oracle.name in (ON_LISTS if name == SEQUENCE else ON_PIPELINES):
            return ""
        return f"runs on {'pipelines' if of_pipelines else 'single passes'} only"
    if of_pipelines:
        return "runs on pipelines only"
    if contract is not None and contract.universal_only and not oracle.universal:
        return "the pass has no contract"
    if oracle.name == "reference" and (contract is None or contract.reference is None):
        return "the pass has no reference"
    if oracle.name == "lowering-complete" and (contract is None or not contract.lowers):
        return "the pass lowers nothing"
    if contract is None:
        return ""
    for exemption in contract.exemptions:
        if exemption.oracle == oracle.name and exemption.when is None:
            return f"{exemption.reason} ({exemption.source})"
    return ""


@dataclass(frozen=True, slots=True)
class Share:
    """The statistics of an item of the schedule over all runs."""

    name: str
    checks: int
    applied: float
    """The share of modules that it applied to."""
    changed: float | None
    """The share of checks in which it changed the module; None for what is no single pass."""
    known: float
    """The share of checks that ended in a known bug."""
    avoided: int
    """Modules that were skipped, since they have what a known bug needs."""
    rate: float
    """Checks per second; 0 where it is unknown."""
    bugs: int
    """Bugs that it is blamed for and that are not known."""


def shares(report: Report) -> list[Share]:
    """The statistics by item, in the order of the matrix."""
    known = report.known_reports
    all_stats = report.stats
    made = []
    for item in in_order(all_stats):
        stats = all_stats[item]
        tried = stats.checks + stats.inapplicable
        checks = max(1, stats.checks)
        made.append(
            Share(
                item,
                stats.checks,
                stats.checks / max(1, tried),
                stats.changed / checks if is_single(item) else None,
                min(1.0, known[item] / checks),
                stats.avoided,
                stats.checks / stats.seconds if stats.seconds else 0.0,
                len([e for e in report.of(State.NEW, State.SEEN) if bare(item) in e.passes]),
            )
        )
    return made
