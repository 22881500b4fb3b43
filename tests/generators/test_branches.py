"""Branches of an If: with what they end, and of what they are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tvm import relax, tirx
from tvm.ir import PrimType

from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.inspect import nodes

MODULES = 60


def branching(
    *traits: Trait, ops: tuple[str, ...] | None = None, modules: int = MODULES
) -> Iterator[relax.If]:
    strategy = ir_modules(force=[Trait.IF, *traits], only=[], ops=ops)
    for index in range(modules):
        mod = example(strategy, 3, index)
        relax.analysis.well_formed(mod)
        for func in mod.functions.values():
            yield from nodes(func, relax.If)


def test_branches_name_dims_and_no_tensor_that_has_them() -> None:
    kinds: Counter[type] = Counter()
    traits = Trait.SYMBOLIC_SHAPES, Trait.SHAPE_VALUES, Trait.NUMBERS
    for each in branching(*traits, modules=2 * MODULES):
        for branch in (each.true_branch, each.false_branch):
            used: list[tirx.Var] = list(relax.analysis.free_symbolic_vars(branch))
            types = [var.ty for var in relax.analysis.free_vars(branch)]
            given = {v for ty in types for v in relax.analysis.tir_vars_in_type(ty)}
            if set(used) - given:
                kinds[type(branch.body.ty)] += 1
    assert all(kinds[kind] >= 2 for kind in (relax.TensorType, relax.ShapeType, PrimType)), kinds


def test_some_branches_do_the_same_to_two_values() -> None:
    assert any(_begin_alike(each) for each in branching())


def _begin_alike(node: relax.If) -> bool:
    """Both branches begin with one operator, on other operands of one type."""
    one, other = (
        branch.blocks[0].bindings[0].value
        for branch in (node.true_branch, node.false_branch)
        if branch.blocks
    )
    return not structural_equal(one, other) and structural_equal(one, other, map_free_vars=True)
