"""Puts findings in rows: all findings of one bug share a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...oracles.grading import decides
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
"""Rank of each oracle by the strength of its symptom; a bug is shown by its strongest symptom. The
order is: the pass raises; the result is ill-formed, has other values, another interface, ...; a
second run with an effect is the weakest."""


def place(store: Store, finding: Finding) -> str:
    """Put a finding of the store in its row; return the id of the row."""
    return store.rows.enter(finding.id, finding.identity, finding.ingredients)


def by_row(store: Store, findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Group findings by the id of their row; the first of each row is the best one to show."""
    rows: dict[str, list[Finding]] = {}
    for finding in findings:
        rows.setdefault(store.rows.of(finding.id) or finding.id, []).append(finding)
    for members in rows.values():  # with a reproducer, strongest symptom, smallest
        members.sort(
            key=lambda f: (
                store.reproducer(f) is None,
                STRENGTH.get(f.oracle, 0),  # deaths have no oracle
                len(f.source) or len(f.module),
            )
        )
    return rows


def similar_to(row: Iterable[Finding]) -> str:
    """The known bug to which the first finding of a row is similar; or empty."""
    return next((finding.similar for finding in row), "")


FAIL_ON = "B"
"""The conditions on findings that decide exit codes and tests, unless the user chooses others."""


def fails(row: Iterable[Finding], fail_on: str | None, named: Collection[str] = ()) -> bool:
    """Return whether the row decides the exit code, or the result of a test.

    Args:
        fail_on: the grades and effects that decide; None: `FAIL_ON`, and any grade for an oracle in
            `named`.
        named: the oracles that the user has requested by name.
    """

    def is_grave(finding: Finding) -> bool:
        asked = fail_on is None and finding.oracle in named
        return asked or finding.weight.fails_on(fail_on or FAIL_ON)

    return any(is_grave(finding) and decides(finding.violation.full_key, named) for finding in row)


def gravest(row: Iterable[Finding]) -> Finding:
    """The finding of a bug with the gravest consequence, which counts as the bug's own."""
    return min(row, key=lambda finding: finding.weight.rank)
