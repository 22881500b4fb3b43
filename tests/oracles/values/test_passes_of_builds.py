"""Passes that a build runs itself: where they are wrong, compiled code is, too."""

from __future__ import annotations

import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.oracles.composition import contract_of
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values.evaluated import evaluated


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
