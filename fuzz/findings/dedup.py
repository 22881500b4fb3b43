"""Put findings in their rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from ...oracles.grades.grade import Grade
from ...oracles.structural import crash, idempotence, well_formed
from ...oracles.tiers import ORACLES, STRUCTURAL
from ..process.executor import Executor
from .confirm import again
from .finding import Finding
from .pattern import elements, is_call
from .rows import NamedCause
from .rules import RULES, Rule, has_wrong_result, is_of_users_pass
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


def causes(finding: Finding, rules: Iterable[Rule] = RULES) -> list[NamedCause]:
    """The causes that the rules name, by rule; none where no evidence was taken."""
    evidence = finding.evidence
    if evidence is None:
        return []
    found = []
    for rule in rules:
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
        for number, (id, reason) in enumerate(_suspects(store, finding)):
            other = store.get(id)
            if other is None or store.rows.of(id) == row:  # joined meanwhile
                continue
            asked = executor if number < MOST_SUSPECTS else None
            if are_one(asked, other, finding):
                row = store.rows.join(finding.id, id, reason)
    return row


def _suspects(store: Store, finding: Finding) -> list[tuple[str, str]]:
    """Findings that may be the same bug, with the reason; the first of each row before others."""
    suspects = store.rows.suspects(finding.id)
    first = {store.rows.of(id): id for id, _ in reversed(suspects)}
    return sorted(suspects, key=lambda each: each[0] not in first.values())


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


def maybe_known(row: Iterable[Finding]) -> tuple[str, ...]:
    """The known bugs that a bug may be, by its first finding, where each of them may be one."""
    each = [finding.maybe for finding in row]
    return each[0] if each and all(each) else ()


def gravest(row: Iterable[Finding]) -> Grade:
    """The grade of a bug: the best that any of its findings shows."""
    return min(finding.grade for finding in row)


def are_one(executor: Executor | None, one: Finding, other: Finding) -> bool:
    """Two suspects are one bug.

    Args:
        executor: None: only what is known of them is compared.
    """
    if not is_of_users_pass(other):
        return executor is not None and crosscheck(executor, one, other)
    pairs = ((one, other), (other, one))
    return any(need_the_same(*pair) for pair in pairs) or (
        executor is not None and any(explains(executor, *pair) for pair in pairs)
    )


def crosscheck(executor: Executor, one: Finding, other: Finding) -> bool:
    """Each one's module shows the other's violation, too."""
    return (
        again(executor, other, one.module) is not None
        and again(executor, one, other.module) is not None
    )


def explains(executor: Executor, one: Finding, other: Finding) -> bool:
    """The smallest module of the one shows the other violation, too.

    A module that could be smaller has more than the fault of the pass needs, and may show anything.
    """
    return one.reduced and again(executor, other, one.module) is not None


def need_the_same(one: Finding, other: Finding) -> bool:
    """Both smallest modules need one call, or all that the one is made of, that of the other needs.

    And it fails in the same way there, or both results are wrong: in type, value or form, or so
    that an operator of TVM's refuses what the pass has put before it. What else the one or the
    other needs is where the fault is seen.
    """
    if one.evidence is None or other.evidence is None or not (one.reduced and other.reduced):
        return False
    mine, its = elements(one.evidence.pattern), elements(other.evidence.pattern)
    if not (mine and mine <= its) and not any(map(is_call, mine & its)):
        return False
    alike = (one.oracle, one.key[:1]) == (other.oracle, other.key[:1])
    return alike or (has_wrong_result(one) and has_wrong_result(other))
