"""Nothing that type inference accepts is left out of what the records make."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Collection, Mapping, Sequence

import pytest
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.generators.ops import table, variation
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.generators.ops.variation import Variations, accepted
from tests.generators.accepted import Feature, features, made, public_calls, sample

EXPLAINED: Mapping[tuple[str, Feature], str] = {}
"""By operator and feature: why the record does not make what type inference accepts."""

DRAWS = range(12)
"""Calls as the record builds them, without any variation."""

HARMLESS = [op for op in table.values() if not op.deadly]
DEADLY = [(op, kind) for op in table.values() for kind in op.deadly]


def missing(
    op: Op, numbers: Sequence[int], without: Collection[Variations] = ()
) -> dict[Feature, relax.Call]:
    """What type inference accepts and the record does not make, with a call that shows it."""
    bases = [sample(op, number) for number in numbers]
    known = set().union(*(made(base, op, without) for base in bases))
    known.update(*(features(sample(op, number).call) for number in DRAWS))
    found: dict[Feature, relax.Call] = {}
    for base in bases:
        for call in public_calls(op, base):
            new = features(call) - known - found.keys()
            if new and is_accepted(base.scope.module.builder, call):
                found |= dict.fromkeys(new, call)
    return {what: call for what, call in found.items() if (op.name, what) not in EXPLAINED}


def is_accepted(builder: relax.BlockBuilder, call: relax.Call) -> bool:
    try:
        builder.normalize(call)
    except Exception:  # what a refusal raises is of any type
        return False
    return True


def complaints(op: Op, numbers: Sequence[int]) -> list[str]:
    return [
        f"{op.name}: type inference accepts {feature}, but the record never makes it: {call}"
        for feature, call in missing(op, numbers).items()
    ]


def test_whatever_is_accepted_is_made() -> None:
    wrong = [text for op in HARMLESS for text in complaints(op, [1])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (variation.dtypes, "add"),
        (variation.ranks, "add"),
        (variation.unknown, "matmul"),
        (variation.sizes, "index_put"),
        (variation.numbers, "arange"),
        (variation.attributes, "sum"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_without_a_kind_of_variation_something_is_missing(kind: Variations, name: str) -> None:
    assert missing(table[name], [0, 1], [kind])


def test_an_optional_operand_is_left_out() -> None:
    bases = [sample(table["nn.nll_loss"], number) for number in range(12)]
    base = next(base for base in bases if len(base.call.args) == 3)
    (left_out,) = variation.absent(base.scope, base.call)
    found = accepted(base.scope, base.call, left_out)
    assert found is not None
    assert len(found[0].args) == 2


def test_a_constant_becomes_a_parameter() -> None:
    base = sample(table["divide"], 0)
    (changed,) = [each.apply(base.call)[0] for each in variation.values(base.scope, base.call)]
    assert isinstance(base.call.args[1], ir.GenericConst)
    assert isinstance(changed.args[1], relax.Var)
    assert changed.args[1].ty == base.call.args[1].ty


def test_a_divisor_becomes_a_zero_that_is_a_number() -> None:
    base = sample(table["divide"], 0)
    changed = [each.apply(base.call)[0] for each in variation.constants(base.scope, base.call)]
    divisors = [ir.constant_data(call.args[1]).numpy() for call in changed]
    assert any(divisor.shape == () and divisor == 0 for divisor in divisors)
    assert all((divisor == divisor.flat[0]).all() for divisor in divisors)


@pytest.mark.parametrize(("op", "kind"), DEADLY, ids=lambda each: getattr(each, "name", None))
def test_a_deadly_kind_of_variation_kills(op: Op, kind: Variations) -> None:
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()  # pytest's would print the traceback of a death that is expected
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for number in range(4):
            base = sample(op, number)
            for variation in kind(base.scope, base.call):
                accepted(base.scope, base.call, variation)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) in (signal.SIGSEGV, signal.SIGABRT)
