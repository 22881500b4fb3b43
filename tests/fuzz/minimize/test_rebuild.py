"""Modules built again are the same; edits of generated ones give mostly well-formed modules."""

from __future__ import annotations

import pytest
import tvm
import tvm_ffi

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.fuzz.minimize.attributes import (
    default_attributes,
    drop_attributes,
    make_private,
    make_pure,
    plain_constants,
)
from relaxfuzz.fuzz.minimize.names import plain_names, unshare
from relaxfuzz.fuzz.minimize.reduction import Reduction
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.shapes import plain_dims, plain_params, shrink_dims, static_dims
from relaxfuzz.fuzz.minimize.signatures import drop_params, drop_result_fields, split_tuples
from relaxfuzz.fuzz.minimize.types import drop_devices, infer_annotations, known_types, plain_dtypes
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.rewrite.rewriter import Rewriter
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.structural.checkers import flaw

ALL: tuple[Reduction, ...] = (
    drop_params,
    split_tuples,
    drop_result_fields,
    drop_attributes,
    static_dims,
    plain_dims,
    shrink_dims,
    drop_devices,
    plain_dtypes,
    known_types,
    infer_annotations,
    plain_params,
    default_attributes,
    plain_constants,
    make_pure,
    make_private,
    unshare,
    plain_names,
)

STAGES = (Stage.RAW, Stage.TIR_FUSED, Stage.REWRITTEN, Stage.LOWERED)

MODULES = 8


@pytest.fixture(scope="module")
def mods() -> list[tvm.IRModule]:
    return [
        advance(example(ir_modules(), 11, index), STAGES[index % len(STAGES)])
        for index in range(MODULES)
    ]


class _InferringAll(Rewriter):
    infers_all = True


def test_a_rewriter_without_hooks_changes_nothing(mods: list[tvm.IRModule]) -> None:
    for mod in mods[:6]:
        assert Rewriter(mod).rewritten().same_as(mod)
        made = _InferringAll(mod).run()
        assert made is None or flaw(made) is None
        # Once all types are inferred, nothing is left to infer.
        assert made is None or _InferringAll(made).run() is None


@pytest.mark.parametrize("reduction", ALL, ids=lambda reduction: str(reduction.__name__))
def test_edits_of_generated_modules(reduction: Reduction, mods: list[tvm.IRModule]) -> None:
    made = 0
    good = 0
    for mod in mods:
        before = tvm.ir.save_json(mod)
        for edit in list(reduction(mod))[:12]:
            if (candidate := edit()) is not None:
                made += 1
                good += flaw(candidate) is None
        assert tvm.ir.save_json(mod) == before
    assert good >= 0.9 * made, f"{good} of {made}"


def test_it_comes_to_an_end_and_nothing_special_is_left(mods: list[tvm.IRModule]) -> None:
    for mod in mods[:: len(STAGES)]:
        small = minimize(mod, lambda candidate: True, reductions=ALL)
        assert flaw(small) is None
        for reduction in ALL:
            for edit in reduction(small):
                candidate = edit()
                assert (
                    candidate is None
                    or flaw(candidate) is not None
                    or tvm_ffi.structural_equal(candidate, small)
                ), reduction.__name__
