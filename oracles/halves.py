"""The halves of exhibits: what runs gave, with a label each."""

from __future__ import annotations

from . import keys
from .oracle import Half
from .subject import Outcome


def ran(outcome: Outcome, label: str, name: str) -> Half:
    """What a run of the pass of this name gave, or that it raised."""
    if outcome.mod is not None:
        return Half(label, outcome.mod)
    assert outcome.error is not None
    return Half(f"{label}: {name} raises {keys.exception(outcome.error).title}")
