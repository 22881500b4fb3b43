"""Nothing that type inference accepts is left out of what the records make."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import relax

from relaxfuzz.generators.ops import table
from relaxfuzz.generators.ops.record import Op
from tests.generators.accepted import Feature, features, made, public_calls, sample

SAMPLES = range(2)
"""Calls of each operator that are varied."""

MANY = range(12)

EXPLAINED: Mapping[tuple[str, Feature], str] = {}
"""By operator and feature: why the records do not make what type inference accepts."""


def missing(op: Op, numbers: range) -> dict[Feature, relax.Call]:
    """What type inference accepts and the record does not make, with a call that shows it."""
    bases = [sample(op, number) for number in numbers]
    known: set[Feature] = set()
    for base in bases:
        for call in made(base, op):
            known |= features(call)
    found: dict[Feature, relax.Call] = {}
    for base in bases:
        for call in public_calls(op, base):
            new = features(call) - known - found.keys()
            if new and accepts(base.scope.module.builder, call):
                found |= dict.fromkeys(new, call)
    return found


def accepts(builder: relax.BlockBuilder, call: relax.Call) -> bool:
    try:
        builder.normalize(call)
    except Exception:  # what a refusal raises is of any type
        return False
    return True


def unexplained(op: Op, numbers: range) -> list[str]:
    return [
        f"{op.name}: type inference accepts {feature}, and the record never makes it: {call}"
        for feature, call in missing(op, numbers).items()
        if (op.name, feature) not in EXPLAINED
    ]


def test_all() -> None:
    wrong = [text for op in table.values() if not op.deadly for text in unexplained(op, SAMPLES)]
    assert not wrong, "\n".join(wrong)
