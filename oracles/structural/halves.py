"""The two sides of an exhibit: outcomes of runs, each with a label."""

from __future__ import annotations

import tvm

from .. import keys
from ..inspect import is_public
from ..oracle import Half, Halves
from ..pass_runs import Outcome
from .canonical import canonical


def ran(outcome: Outcome, label: str, name: str) -> Half:
    """The outcome of a run; if it raised, the label says that the named pass or step did."""
    if outcome.mod is not None:
        return Half(label, outcome.mod)
    assert outcome.error is not None
    return Half(f"{name} raises {keys.exception(outcome.error).title}")


def both(left: Outcome, left_label: str, right: Outcome, right_label: str) -> Halves:
    """The halves for two runs that should give the same result."""
    return alike(
        ran(left, left_label, left_label),
        ran(right, right_label, right_label),
    )


def alike(left: Half, right: Half) -> Halves:
    """The halves, with private functions renamed consistently if their names differ.

    A pass may choose these names, so they are not the error.
    """
    one, other = left.mod, right.mod
    if one is None or other is None or _private(one) == _private(other):
        return left, right
    return (
        Half(left.label, canonical(keys.comparable(one)), left.values),
        Half(right.label, canonical(keys.comparable(other)), right.values),
    )


def _private(mod: tvm.IRModule) -> set[str]:
    return {str(gvar.name_hint) for gvar, func in mod.functions_items() if not is_public(func)}
