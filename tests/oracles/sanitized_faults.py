"""A module with PrimFuncs, and passes that put faulty ones or correct ones in their place."""

from __future__ import annotations

from typing import Any

import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

Pass = tvm.transform.Pass


@I.ir_module
class Module:
    """What `main` picks is never outside, whatever the indices."""

    @T.prim_func(private=True, s_tir=True)
    def less(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        for i in range(4):
            with T.sblock("less"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] - T.int8(1)

    @T.prim_func(private=True, s_tir=True)
    def pick(A: T.Buffer((4,), "int8"), K: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        for i in range(4):
            with T.sblock("pick"):
                v = T.axis.spatial(4, i)
                B[v] = A[T.max(T.min(T.Cast("int32", K[v]), 3), 0)]

    @R.function
    def main(x: R.Tensor((4,), "int8"), indices: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.less, (x,), out_ty=R.Tensor((4,), "int8"))
            z = R.call_tir(cls.pick, (y, indices), out_ty=R.Tensor((4,), "int8"))
            R.output(z)
        return z


@T.prim_func(private=True, s_tir=True)
def reads_b(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    for i in range(4):
        with T.sblock("less"):
            v = T.axis.spatial(4, i)
            B[v] = T.Select(B[v] > T.int8(0), A[v], A[v]) - T.int8(1)


@T.prim_func(private=True, s_tir=True)
def leaves_one(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    for i in range(3):
        with T.sblock("less"):
            v = T.axis.spatial(3, i)
            B[v] = A[v] - T.int8(1)


@T.prim_func(private=True, s_tir=True)
def meets_itself(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    for i in T.parallel(8):
        B[i // 2] = A[i // 2] - T.int8(1)


@T.prim_func(private=True, s_tir=True)
def less_backwards(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    for i in range(4):
        with T.sblock("less"):
            v = T.axis.spatial(4, 3 - i)
            B[v] = A[v] - T.int8(1)


@T.prim_func(private=True, s_tir=True)
def picks_anything(A: T.Buffer((4,), "int8"), K: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    for i in range(4):
        with T.sblock("pick"):
            v = T.axis.spatial(4, i)
            B[v] = A[T.max(T.Cast("int32", K[v]), 0)]


def _replacing(name: str, func: Any) -> Pass:
    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        after = mod.clone()
        after[mod.get_global_var(name)] = func
        return after

    return tvm.transform.module_pass(transform, opt_level=0, name="Replacing")


def reads_what_nobody_wrote() -> Pass:
    return _replacing("less", reads_b)


def leaves_an_element() -> Pass:
    return _replacing("less", leaves_one)


def races() -> Pass:
    return _replacing("less", meets_itself)


def goes_backwards() -> Pass:
    return _replacing("less", less_backwards)


def picks_outside() -> Pass:
    return _replacing("pick", picks_anything)


FAULTS = {
    reads_what_nobody_wrote: "read of uninitialised memory by a new PrimFunc",
    leaves_an_element: "output left unwritten by a new PrimFunc",
    races: "race by a new PrimFunc",
}
