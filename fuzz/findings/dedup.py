"""Put findings in their rows: those of one bug in one row."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...oracles.grades.grade import Grade
from ...oracles.grades.rule import decides
from ...oracles.structural import crash, idempotence, well_formed
from ...oracles.tiers import ORACLES, STRUCTURAL
from .finding import Finding
from .store import Store

STRENGTH = {
    oracle.name: rank
    for rank, oracle in enumerate(
        (
            crash.ORACLE,
            well_formed.ORACLE,
            *(oracle for oracle in ORACLES.values() if oracle.tier > 2),
            *(oracle for oracle in STRUCTURAL if oracle is not idempotence.ORACLE),
            *(oracle for oracle in ORACLES.values() if oracle.tier == 2),
            idempotence.ORACLE,
        ),
        start=1,
    )
}
"""Which symptom of a bug is shown first: the pass raises, the result is ill-formed, has other
values, another interface, ...; that a second run does something is the weakest."""


def place(store: Store, finding: Finding) -> str:
    """The id of the row that a finding of the store belongs to."""
    return store.rows.enter(finding.id, finding.identity, finding.ingredients)


def by_row(store: Store, findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings by the id of their row; in each row the best one to show first."""
    rows: dict[str, list[Finding]] = {}
    for finding in findings:
        rows.setdefault(store.rows.of(finding.id) or finding.id, []).append(finding)
    for members in rows.values():  # those with a reproducer, the strongest symptom, the smallest
        members.sort(
            key=lambda f: (
                store.reproducer(f) is None,
                STRENGTH.get(f.oracle, 0),  # what ends the process has no oracle
                len(f.source) or len(f.module),
            )
        )
    return rows


def similar_to(row: Iterable[Finding]) -> str:
    """The known bug that a row is similar to, if its first finding is; or nothing."""
    return next((finding.similar for finding in row), "")


def fails(row: Iterable[Finding], least: Grade, named: Collection[str] = ()) -> bool:
    """The row decides the exit code, or the result of a test.

    Args:
        least: the least grade of findings that do.
        named: the oracles that the user has asked by their names.
    """
    return any(
        finding.grade.reaches(least) and decides(finding.violation.full_key, named)
        for finding in row
    )


def gravest(row: Iterable[Finding]) -> Grade:
    """The grade of a bug: the best that any of its findings shows."""
    return min(finding.grade for finding in row)
