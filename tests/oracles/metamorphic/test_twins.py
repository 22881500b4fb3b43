"""Twins mean the same as the module, and differ from it in the one thing they are made for."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles import checkers
from relaxfuzz.oracles.metamorphic import twins
from relaxfuzz.oracles.structural.canonical import canonical, equivalent

INDICES = range(12)


def module(index: int) -> tvm.IRModule:
    return example(ir_modules(), 9, index)


@pytest.mark.parametrize("index", INDICES)
def test_a_twin_is_well_formed_and_equal(index: int) -> None:
    mod = module(index)
    for twin in (twins.unshared(mod), twins.reordered(mod), twins.renamed(mod)):
        if twin is not None:
            assert checkers.flaw(twin) is None
            assert equivalent(mod, twin)


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


def test_a_module_that_means_something_else_is_not_equivalent() -> None:
    mod = module(0)
    assert not equivalent(mod, relax.transform.LegalizeOps()(mod))
