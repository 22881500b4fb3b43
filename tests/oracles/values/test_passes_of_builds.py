"""Passes that a build runs itself: where they are wrong, compiled code is, too."""

from __future__ import annotations

import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.identify import identity_of
from relaxfuzz.oracles.identity import is_alike
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values.evaluated import evaluated
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Nested:
    @T.prim_func
    def main(B: T.Buffer((8, 8), "int32")):  # type: ignore[no-untyped-def]
        for i in range(2, 6):
            for j in range(i, 8):
                B[i, j] = i + 100


@I.ir_module
class Stepping:
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):  # type: ignore[no-untyped-def]
        for i in range(2, 8, 2):
            B[i] = i + 100


def _violation(mod: tvm.IRModule, expr: str) -> object:
    call = PassCall(expr)
    return evaluated(PassRuns(mod, (call,), contract_of(call), alone=True, thorough=True))


def test_compiled_code_with_the_same_mistake_does_not_hide_it() -> None:
    found = _violation(Nested, "s_tir.transform.CanonicalizeLoop()")
    assert found is not None
    assert found.key[0] == "values"


def test_a_right_result_is_none() -> None:
    assert _violation(Stepping, "s_tir.transform.CanonicalizeLoop()") is None


@I.ir_module
class UpdatedConstant:
    @T.prim_func(private=True)
    def bump(A: T.Buffer((3,), "float32")):  # type: ignore[no-untyped-def]
        for i in range(3):
            A[i] = A[i] + T.float32(1.0)

    @R.function
    def main() -> R.Tensor((3,), dtype="float32"):  # type: ignore[valid-type]
        cls = UpdatedConstant
        with R.dataflow():
            a = R.ones(R.shape([3]), dtype="float32")
            c = R.add(a, a)
            out = R.Tensor((3,), dtype="float32")
            b = R.call_tir_inplace(cls.bump, (c,), out_ty=out, inplace_indices=[0])
            R.output(b)
        return b


def test_a_build_is_blamed_on_the_step_that_is_wrong() -> None:
    """It is the same bug as in a check of the step alone, not one of each pipeline."""
    case = Case(UpdatedConstant, pipeline="zero")
    (of_build,) = check(case, oracles=("executed-by-pipeline",))
    call = PassCall("FoldConstant()")
    (of_pass,) = check(Case(UpdatedConstant, (call,)), oracles=("evaluated",))
    assert of_build.pass_name == "FoldConstant"
    assert is_alike(identity_of(of_build), identity_of(of_pass, (call,)))
    assert check(Case(UpdatedConstant, pipeline="default"), oracles=("executed-by-pipeline",)) == []
