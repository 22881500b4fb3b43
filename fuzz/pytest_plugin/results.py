"""The results that the items of a session report, for its end and for people."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...corpus.knowns import Known, fields_of
from ..findings.finding import Finding
from ..findings.store import Store
from ..output.readable import short_path
from ..process.targets import PassStats
from ..report import failure_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """The outcome of an item; as plain data, it travels with the item's report."""

    spelling: str
    """The pass, as the user named it."""
    modules: int = 0
    stats: PassStats = field(default_factory=PassStats)
    known_reports: int = 0
    """Number of checks that ended in a known bug."""
    knowns: Mapping[str, int] = field(default_factory=dict)
    """Distinct reports of each known bug, by its name."""
    found: tuple[str, ...] = ()
    """The ids of the findings that it reported, one for each bug."""
    faults: tuple[str, ...] = ()
    finished: bool = False
    """The item ran to its end."""
    pending: int = 0
    """Number of findings not confirmed yet; this and the next field are added at the end."""
    unchanged: str = ""
    """The features that a user's pass looks for, if it changed nothing."""


def text(finding: Finding, store: Store, spelling: str, seeds: Sequence[str]) -> str:
    """A finding as the text of a failed item.

    Args:
        spelling: the pass, as the user named it.
        seeds: the seeds of the session; other seeds would give other modules.
    """
    hints = failure_text.hints(finding, store)
    origin = finding.origin
    if origin is not None:
        hints.append(
            f"Run it again: pytest --relaxfuzz {shlex.quote(spelling)} "
            f"--relaxfuzz-seed {origin.seed} --relaxfuzz-modules {origin.index + 1}"
            + "".join(f" --relaxfuzz-seeds {shlex.quote(short_path(Path(seed)))}" for seed in seeds)
        )
    row = store.rows.of(finding.id)
    if row not in (None, finding.id):
        hints.append(f"Same bug as:  {row}")
    return failure_text.whole(finding, hints)


def junit_properties(finding: Finding, store: Store) -> Sequence[tuple[str, str]]:
    """The properties of a failed item in JUnit's XML."""
    found = [
        ("relaxfuzz.identity", json.dumps(fields_of(finding.identity), ensure_ascii=False)),
        ("relaxfuzz.grade", str(finding.grade)),
        ("relaxfuzz.consequence", finding.effect),
    ]
    reproducer = store.reproducer(finding)
    if reproducer is not None:
        found.append(("relaxfuzz.reproducer", str(reproducer)))
    return found


def below(finding: Finding, fail_on: str) -> str:
    """Reason why a finding is no failure: its consequence, or that it breaks no promise."""
    why = f"grade {finding.grade} ({finding.effect}), outside of --relaxfuzz-fail-on {fail_on!r}"
    if finding.weight.fails_on(fail_on):
        why = "a hint, which breaks no promise"
    return f"{why}: {finding.label}: {finding.title} ({finding.id})"


def reason(known: Known) -> str:
    """Reason why a failure is expected: the bug, its report upstream, and the advice."""
    advice = "" if known.workaround is None else f"; instead: {known.workaround}"
    return f"{known.what} ({known.upstream[0] if known.upstream else known.name}){advice}"
