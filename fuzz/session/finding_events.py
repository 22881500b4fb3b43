"""Findings as JSON events, and in one line."""

from __future__ import annotations

from ...corpus.knowns import fields_of
from ...oracles.grading import decides
from ...oracles.identity import FORMAT
from ..findings.finding import Finding
from ..findings.store import Store


def event_of(finding: Finding, store: Store) -> dict[str, object]:
    """A finding as a JSON event."""
    reproducer = store.reproducer(finding)
    return {
        "event": "finding",
        "id": finding.id,
        "row": store.rows.of(finding.id) or finding.id,
        "identity": fields_of(finding.identity),
        "identity_format": FORMAT,
        "place": finding.violation.place,
        "pass": finding.pass_name,
        "contract": finding.has_contract,
        "oracle": finding.oracle,
        "title": finding.title,
        "grade": finding.grade,
        "hint": not decides(finding.violation.full_key),
        "consequence": finding.effect,
        "reproducer": None if reproducer is None else str(reproducer),
        "module": str(store.module(finding)),
        "confirmed": finding.confirmed,
        "similar": finding.similar,
        "tvm": finding.versions["tvm"],
    }


def brief_event(kind: str, finding: Finding) -> dict[str, object]:
    """An event about a finding that is not reported."""
    return {
        "event": kind,
        "id": finding.id,
        "pass": finding.pass_name,
        "oracle": finding.oracle,
        "title": finding.title,
    }


def in_one_line(finding: Finding) -> str:
    """The finding as "LegalizeOps: the title (the oracle)"."""
    return f"{finding.label}: {finding.title} ({finding.oracle})"
