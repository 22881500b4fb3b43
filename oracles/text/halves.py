"""The halves of exhibits: what runs gave, with a label each."""

from __future__ import annotations

import tvm

from .. import keys
from ..inspect import is_public
from ..oracle import Half, Halves
from ..pass_runs import Outcome
from ..structural.canonical import canonical


def ran(outcome: Outcome, label: str, name: str) -> Half:
    """What a run gave; or that the pass of this name, or what is named, raises."""
    if outcome.mod is not None:
        return Half(label, outcome.mod)
    assert outcome.error is not None
    return Half(f"{name} raises {keys.exception(outcome.error).title}")


def both(left: Outcome, left_label: str, right: Outcome, right_label: str) -> Halves:
    """Two runs that ought to give the same."""
    return alike(
        ran(left, left_label, left_label),
        ran(right, right_label, right_label),
    )


def alike(left: Half, right: Half) -> Halves:
    """The halves, with the private functions under the same names where those differ.

    Such names are up to the pass: they are not what is wrong.
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
