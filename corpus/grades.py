"""Consequences of known bugs: as measured, else the gravest that their reports allow."""

from __future__ import annotations

from ..oracles.consequence import assumed
from ..oracles.grades.consequence import Consequence
from ..oracles.violation import Violation
from .knowns import Known


def consequence(known: Known) -> Consequence:
    """The consequence of a known bug."""
    if known.consequence is not None:
        return known.consequence
    reports = (
        Violation("", "", tuple(key), oracle=oracle, pass_name=blamed)
        for oracle, blamed, *key in known.reports
    )
    return min(map(assumed, reports), key=lambda each: each.rank)
