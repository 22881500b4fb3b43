"""Put findings in their rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from ...oracles.grades.grade import Grade
from ..process.executor import Executor
from .confirm import again
from .finding import Finding
from .rows import NamedCause
from .rules import RULES
from .store import Store

MOST_SUSPECTS = 8
"""Findings that one is compared with; each takes two checks in fresh processes."""


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
        for id, reason in store.rows.suspects(finding.id)[:MOST_SUSPECTS]:
            other = store.get(id)
            if other is not None and crosscheck(executor, finding, other):
                row = store.rows.join(finding.id, id, reason)
    return row


def by_row(store: Store, findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings by the id of their row; in each row the best one to show first."""
    rows: dict[str, list[Finding]] = {}
    for finding in findings:
        rows.setdefault(store.rows.of(finding.id) or finding.id, []).append(finding)
    for members in rows.values():  # those with a reproducer, then the smaller ones
        members.sort(key=lambda f: (store.reproducer(f) is None, len(f.source) or len(f.module)))
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
