"""Infinite constants of PrimFuncs: compared unless the code calculates with them."""

from __future__ import annotations

import math

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat.structural import structural_map
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Masked:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.if_then_else(i < 2, T.max(A[i], T.float32("-inf")), T.float32("-inf"))


@I.ir_module
class Calculates:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        B[0] = A[0]
        B[1] = T.float32("inf")
        B[2] = B[1] - B[1]
        B[3] = A[3]


@I.ir_module
class Divides:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.if_then_else(i < 2, A[i] / (A[i] - A[i]), T.float32("-inf"))


def masks_less() -> tvm.transform.Pass:
    """A faulty pass: a number where infinity was."""

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        return tvm.IRModule({g: _with_limits(func) for g, func in mod.functions_items()})

    return tvm.transform.module_pass(run, opt_level=0, name="masks_less")


def _with_limits(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def limited(constant: tirx.FloatImm) -> tirx.FloatImm:
        return tirx.FloatImm("float32", -1e30) if math.isinf(constant.value) else constant

    return structural_map(func, [(tirx.FloatImm, limited)])


def test_a_mask_of_infinities_is_compared() -> None:
    (call, *_) = Expectations(Masked).of("main")
    assert not call.finite
    assert call.result[1].tolist()[2:] == [float("-inf")] * 2
    simplify = PassCall("tirx.transform.StmtSimplify()")
    assert check(Case(Masked, (simplify,)), oracles=["evaluated"]) == []
    wrong = PassCall("masks_less()", factory=f"{__file__}:masks_less")
    assert len(check(Case(Masked, (wrong,)), oracles=["evaluated"])) == 1


def test_what_is_calculated_with_infinity_is_not_compared() -> None:
    """TVM may make zero of x - x."""
    for mod in (Calculates, Divides):
        expectations = Expectations(mod)
        assert list(expectations.of("main")) == []
        assert "NaN or infinity" in (expectations.why_not("main") or "")
