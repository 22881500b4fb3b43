"""Twins mean the same as the module, and differ from it in the one thing they are made for."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.inspect import nodes
from relaxfuzz.oracles.metamorphic import twins
from relaxfuzz.oracles.structural import checkers
from relaxfuzz.oracles.structural.canonical import canonical, equivalent

INDICES = range(12)


def module(index: int) -> tvm.IRModule:
    return example(ir_modules(), 9, index)


def shapes(mod: tvm.IRModule) -> int:
    """How many ShapeExpr nodes are used in more than one place."""
    used = [hash(node) for node in nodes(mod, relax.ShapeExpr)]
    return len(used) - len(set(used))


@pytest.mark.parametrize("index", INDICES)
def test_a_twin_is_well_formed_and_equal(index: int) -> None:
    mod = module(index)
    for twin in (twins.unshared(mod), twins.shared(mod), twins.reordered(mod), twins.renamed(mod)):
        if twin is not None:
            assert checkers.flaw(twin) is None
            assert equivalent(mod, twin)


@pytest.mark.parametrize("index", INDICES)
def test_sharing(index: int) -> None:
    mod = module(index)
    unshared, shared = twins.unshared(mod), twins.shared(mod)
    assert unshared is None or shapes(unshared) < shapes(mod)
    assert shared is None or shapes(shared) > shapes(mod)


def test_some_modules_share_and_some_can_share_more() -> None:
    mods = [module(index) for index in INDICES]
    assert any(twins.unshared(mod) is not None for mod in mods)
    assert any(twins.shared(mod) is not None for mod in mods)


@pytest.mark.parametrize("index", INDICES)
def test_private_names_differ_and_public_ones_stay(index: int) -> None:
    mod = module(index)
    twin = twins.renamed(mod)
    old = {str(g.name_hint): f for g, f in mod.functions_items()}
    new = {str(g.name_hint) for g in twin.functions}
    for name, func in old.items():
        public = func.attrs is not None and "global_symbol" in func.attrs
        assert (name in new) == public


def test_names_that_are_kept() -> None:
    mod = next(
        m
        for m in map(module, range(40))
        if len(m.functions) > len(canonical(m).functions)
        or any("composite" in str(g.name_hint) for g in m.functions)
    )
    names = {str(gvar.name_hint) for gvar in mod.functions}
    assert {str(gvar.name_hint) for gvar in twins.renamed(mod, kept=names).functions} == names


@pytest.mark.parametrize("index", INDICES)
def test_functions_come_in_the_opposite_order(index: int) -> None:
    mod = module(index)
    twin = twins.reordered(mod)
    names = [str(gvar.name_hint) for gvar in mod.functions]
    if twin is None:
        assert len(names) == 1
    else:
        assert [str(gvar.name_hint) for gvar in twin.functions] == names[::-1]


@pytest.mark.parametrize("stage", [Stage.RAW, Stage.LEGALIZED])
def test_the_stranger_comes_and_goes(stage: Stage) -> None:
    mod = advance(module(0), stage)
    twin = twins.with_stranger(mod)
    assert twins.STRANGER in twin
    assert checkers.flaw(twin) is None
    assert equivalent(twins.without_stranger(twin), mod)


def test_a_module_that_means_something_else_is_not_equivalent() -> None:
    mod = module(0)
    assert not equivalent(mod, relax.transform.LegalizeOps()(mod))
    assert not equivalent(mod, twins.with_stranger(mod))
