"""Branches of an If: with what they end, and of what they are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import tvm
from tvm import relax, tirx
from tvm.ir import Op, PrimType

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.inspect import nodes

MODULES = 60


def branching(*traits: Trait, ops: tuple[str, ...] | None = None) -> Iterator[relax.If]:
    strategy = ir_modules(force=[Trait.IF, *traits], only=[], ops=ops)
    for index in range(MODULES):
        mod = example(strategy, 3, index)
        relax.analysis.well_formed(mod)
        for func in mod.functions.values():
            yield from nodes(func, relax.If)


def last_op(branch: relax.Expr) -> str:
    """The operator of the branch's last binding."""
    bindings = [binding for block in branch.blocks for binding in block.bindings]
    call = getattr(bindings[-1], "value", None) if bindings else None
    is_operator = isinstance(call, tvm.ir.Call) and isinstance(call.op, Op)
    return str(call.op.name).removeprefix("relax.") if is_operator else ""


def test_branches_end_with_any_operator() -> None:
    ends: Counter[tuple[str, ...]] = Counter()
    for each in branching(ops=("astype", "nn.softmax")):
        ends[last_op(each.true_branch), last_op(each.false_branch)] += 1
        assert not isinstance(each.ty, relax.TensorType) or each.ty.shape is not None
    assert ends["astype", "astype"] >= 3
    assert ends["nn.softmax", "nn.softmax"] >= 3
    assert sum(ends.values()) > 2 * (ends["astype", "astype"] + ends["nn.softmax", "nn.softmax"])


def test_branches_name_dims_and_no_tensor_that_has_them() -> None:
    kinds: Counter[type] = Counter()
    for each in branching(Trait.SYMBOLIC_SHAPES, Trait.SHAPE_VALUES, Trait.NUMBERS):
        for branch in (each.true_branch, each.false_branch):
            used: list[tirx.Var] = list(relax.analysis.free_symbolic_vars(branch))
            types = [var.ty for var in relax.analysis.free_vars(branch)]
            given = {v for ty in types for v in relax.analysis.tir_vars_in_type(ty)}
            if set(used) - given:
                kinds[type(branch.body.ty)] += 1
    assert all(kinds[kind] >= 2 for kind in (relax.TensorType, relax.ShapeType, PrimType)), kinds
