"""A module with PrimFuncs, and passes that put faulty ones or correct ones in their place."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
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


@I.ir_module
class Twice:
    """Sums of a tensor and a view of it, and of a tensor and itself."""

    @T.prim_func(private=True, s_tir=True)
    def sum(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8"), C: T.Buffer((4,), "int8")):
        for i in range(4):
            with T.sblock("sum"):
                v = T.axis.spatial(4, i)
                C[v] = A[v] + B[v]

    @R.function
    def main(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        cls = Twice
        with R.dataflow():
            y = R.add(x, x)
            view = R.reshape(y, (4,))
            viewed = R.call_tir(cls.sum, (y, view), out_ty=R.Tensor((4,), "int8"))
            itself = R.call_tir(cls.sum, (viewed, viewed), out_ty=R.Tensor((4,), "int8"))
            R.output(itself)
        return itself


@I.ir_module
class Converting:
    """What is less than 0 has no meaning as an unsigned number."""

    @T.prim_func(private=True, s_tir=True)
    def less(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "uint8")):
        for i in range(4):
            with T.sblock("less"):
                v = T.axis.spatial(4, i)
                B[v] = T.Cast("uint8", A[v])

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "uint8"):
        cls = Converting
        with R.dataflow():
            y = R.call_tir(cls.less, (x,), out_ty=R.Tensor((4,), "uint8"))
            R.output(y)
        return y


@T.prim_func(private=True, s_tir=True)
def converts_three(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "uint8")):
    for i in range(3):
        with T.sblock("less"):
            v = T.axis.spatial(3, i)
            B[v] = T.Cast("uint8", A[v])


@T.prim_func(private=True, s_tir=True)
def add(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    T.func_attr({"tirx.noalias": True})
    for i in range(4):
        with T.sblock("sum"):
            v = T.axis.spatial(4, i)
            A[v] = A[v] + B[v]


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
def less_and_jumps(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    for i in range(4):
        with T.sblock("less"):
            v = T.axis.spatial(4, i)
            B[v] = A[v] - T.int8(1)
    T.evaluate(T.continue_loop())


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


def leaves_a_number() -> Pass:
    return _replacing("less", converts_three)


def races() -> Pass:
    return _replacing("less", meets_itself)


def goes_backwards() -> Pass:
    return _replacing("less", less_backwards)


def picks_outside() -> Pass:
    return _replacing("pick", picks_anything)


def jumps() -> Pass:
    """The body of `less` leaves a loop in which it is not."""
    return _replacing("less", less_and_jumps)


def _in_place(name: str) -> Pass:
    """`add` for `sum`, where a variable is bound; it is new in the result."""

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):
        def visit_var_binding_(self, binding: relax.VarBinding) -> None:
            if binding.var.name == name:
                new = self.builder_.add_func(add, "add")
                operands = binding.value.args[1]
                value = relax.op.call_tir_inplace(new, operands, 0, binding.var.ty)
                binding = relax.VarBinding(binding.var, value)
            super().visit_var_binding_(binding)

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        mutator = Mutator(mod)
        main = mod.get_global_var("main")
        mutator.builder_.update_func(main, mutator.visit_expr(mod[main]))
        return mutator.builder_.get()

    return tvm.transform.module_pass(transform, opt_level=0, name="InPlace")


def overwrites_what_it_views() -> Pass:
    return _in_place("viewed")


def overwrites_both_of_one() -> Pass:
    return _in_place("itself")


FAULTS = {
    reads_what_nobody_wrote: "read of uninitialised memory by a new PrimFunc",
    leaves_an_element: "output left unwritten by a new PrimFunc",
    races: "race by a new PrimFunc",
}
