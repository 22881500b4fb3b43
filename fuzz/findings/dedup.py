"""Put findings in their rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from ...oracles.grades.grade import Grade
from ...oracles.oracle import Aspect
from ...oracles.structural import crash, idempotence, well_formed
from ...oracles.tiers import ORACLES, STRUCTURAL
from ..process.executor import Executor
from .confirm import again
from .finding import Finding
from .pattern import elements
from .rows import NamedCause
from .rules import RULES, aspects, is_of_users_pass
from .store import Store

MOST_SUSPECTS = 8
"""Findings that one is compared with; each takes two checks in fresh processes."""


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


def causes(finding: Finding) -> list[NamedCause]:
    """The causes that the rules name, by rule; none where no evidence was taken."""
    evidence = finding.evidence
    if evidence is None:
        return []
    found = []
    for rule in RULES:
        for cause in rule.causes(finding, evidence):
            digest = hashlib.sha256(json.dumps([rule.name, *cause]).encode()).hexdigest()[:32]
            found.append(NamedCause(digest, rule.reason, rule.sure))
    return found


def place(store: Store, finding: Finding, executor: Executor | None = None) -> str:
    """The id of the row that a finding of the store belongs to.

    Args:
        executor: compares it with suspects; None: they stay in rows of their own.

    Raises:
        ExecutorError: the harness failed at a check.
    """
    row = store.rows.enter(finding.id, causes(finding))
    if executor is not None:
        users = is_of_users_pass(finding)
        suspects = store.rows.suspects(finding.id)
        if users:  # the first of a row is enough
            suspects = list({store.rows.of(each[0]): each for each in reversed(suspects)}.values())
            suspects.reverse()
        for id, reason in suspects[:MOST_SUSPECTS]:
            other = store.get(id)
            if other is None or store.rows.of(id) == row:  # joined meanwhile
                continue
            if users:
                pairs = ((other, finding), (finding, other))
                same = any(explains(executor, *pair) for pair in pairs)
            else:
                same = crosscheck(executor, other, finding)
            if same:
                row = store.rows.join(finding.id, id, reason)
    return row


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


def gravest(row: Iterable[Finding]) -> Grade:
    """The grade of a bug: the best that any of its findings shows."""
    return min(finding.grade for finding in row)


def crosscheck(executor: Executor, one: Finding, other: Finding) -> bool:
    """Each one's module shows the other's violation, too."""
    return (
        again(executor, other, one.module) is not None
        and again(executor, one, other.module) is not None
    )


def explains(executor: Executor, one: Finding, other: Finding) -> bool:
    """The fault of a pass that the one finding shows is enough for the other.

    The smallest module of the one shows the other violation, too; or it is a part of the other's,
    of which nothing can be left out, and the result of the pass is wrong there as well.
    """
    if not one.reduced:  # it has more than the fault needs, and may show anything
        return False
    return again(executor, other, one.module) is not None or _is_part(one, other)


def _is_part(one: Finding, other: Finding) -> bool:
    if one.evidence is None or other.evidence is None or not other.reduced:
        return False
    needed = elements(one.evidence.pattern)
    if not needed or not needed <= elements(other.evidence.pattern):
        return False
    alike = (one.oracle, one.key[:1]) == (other.oracle, other.key[:1])
    return alike or Aspect.RESULT in aspects(one) & aspects(other)
