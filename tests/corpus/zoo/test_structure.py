"""Each fault shows where its trigger is, and the pass is right where it is not."""
# ruff: noqa: F841, RET504

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz import evaluate
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.zoo import structure
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.inspect import blocks_of, is_public
from relaxfuzz.oracles.structural import checkers

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")


@I.ir_module
class AliasReturned:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.exp(x)
            z = y
            w = z
            v = R.add(w, z)
            R.output(v)
        u = v
        return u


@I.ir_module
class AliasUsedLater:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.exp(x)
            z = y
            R.output(z)
        w = R.add(z, z)
        return w


@I.ir_module
class Callees:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = Callees.f(x)
        return y

    @R.function(private=True)
    def f(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y

    @R.function(private=True)
    def idle(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.exp(x)
        return y


@I.ir_module
class CalleesOfCallees:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = CalleesOfCallees.f(x)
        return y

    @R.function(private=True)
    def f(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = CalleesOfCallees.g(x)
        return y

    @R.function(private=True)
    def g(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y


@I.ir_module
class Simple:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y


@I.ir_module
class PublicKernel:
    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((2, 3), "float32"), y: T.Buffer((2, 3), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(2, 3):
            with T.sblock("copy"):
                a, b = T.axis.remap("SS", [i, j])
                y[a, b] = x[a, b]

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y


@I.ir_module
class LongKernel:
    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((2, 9), "float32"), y: T.Buffer((2, 9), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(2, 9):
            with T.sblock("copy"):
                a, b = T.axis.remap("SS", [i, j])
                y[a, b] = x[a, b]

    @R.function
    def main(x: R.Tensor((2, 9), "float32")) -> R.Tensor((2, 9), "float32"):
        cls = LongKernel
        y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((2, 9), "float32"))
        return y


@I.ir_module
class Idle:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        t = (x, x)
        u = t[0]
        y = R.exp(x)
        return y


@I.ir_module
class IdleAndImpure:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        t = (x, x)
        u = R.print(x, format="{}")
        y = R.exp(x)
        return y


@I.ir_module
class Devices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})

    @R.function
    def main(
        x: R.Tensor((2, 3), "float32", "llvm:1"),
    ) -> R.Tensor((2, 3), "float32", "llvm:1"):
        y = R.add(x, x)
        return y


def callers(size: int | str) -> tvm.IRModule:
    """Two public functions that call the same private one, with tensors of shape (size, 3)."""
    builder = relax.BlockBuilder()

    def tensor() -> relax.Var:
        rows = tirx.Var(size, "int64") if isinstance(size, str) else size
        return relax.Var("x", relax.TensorType((rows, 3), "float32"))

    with builder.function("shared", [x := tensor()], private=True):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    shared = builder.get().get_global_var("shared")
    for name in ("main", "second"):
        with builder.function(name, [x := tensor()]):
            builder.emit_func_output(builder.emit(relax.Call(shared, [x])))
    return builder.get()


@I.ir_module
class Broadcasts:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.broadcast_to(x, R.shape([2, 3]))
        return y


@I.ir_module
class SymbolicBroadcasts:
    @R.function
    def main(x: R.Tensor((3,), "float32"), s: R.Tensor(("n", 3), "float32")) -> R.Tensor(
        ("n", 3), "float32"
    ):
        n = T.int64()
        y = R.broadcast_to(x, R.shape([n, 3]))
        return y


@I.ir_module
class UnusedValues:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, a)
            y = R.sqrt(x)
            R.output(y)
        return y


@I.ir_module
class UnusedCast:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        with R.dataflow():
            a = R.match_cast(x, R.Tensor((n, 3), "float32"))
            y = R.ones(R.shape([n]), "float32")
            R.output(y)
        return y


@I.ir_module
class UnusedParameter:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = UnusedParameter.f(x, x)
        return y

    @R.function(private=True)
    def f(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor(
        (2, 3), "float32"
    ):
        z = R.exp(y)
        return z


@I.ir_module
class DefiningParameter:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2,), "float32"):
        y = DefiningParameter.f(x, x)
        return y

    @R.function(private=True)
    def f(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor(
        ("n",), "float32"
    ):
        n = T.int64()
        z = R.ones(R.shape([n]), "float32")
        return z


@I.ir_module
class UnusedOutput:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        t = UnusedOutput.f(x)
        y = t[1]
        return y

    @R.function(private=True)
    def f(
        x: R.Tensor((2, 3), "float32"),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        y = R.exp(x)
        return (x, y)


@I.ir_module
class OutputsReturned:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        t = OutputsReturned.f(x)
        y = t[1]
        return y

    @R.function
    def other(
        x: R.Tensor((2, 3), "float32"),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        t = OutputsReturned.f(x)
        return t

    @R.function(private=True)
    def f(
        x: R.Tensor((2, 3), "float32"),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        y = R.exp(x)
        return (x, y)


@I.ir_module
class Likes:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.ones_like(x)
        return y


@I.ir_module
class LikesOfOtherType:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "int32"):
        y = R.ones_like(x, dtype="int32")
        return y


@I.ir_module
class Dataflow:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        (2, 3), "float32"
    ):
        with R.dataflow():
            a = R.exp(x)
            y = R.add(a, a)
            R.output(y)
        if c:
            with R.dataflow():
                b = R.exp(y)
                z = R.add(b, y)
                R.output(z)
            r = z
        else:
            r = y
        return r


@I.ir_module
class LocalDataflow:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        @R.function
        def local(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                a = R.exp(y)
                z = R.add(a, a)
                R.output(z)
            return z

        with R.dataflow():
            v = R.exp(x)
            w = R.add(v, v)
            R.output(w)
        r: R.Tensor((2, 3), "float32") = local(w)
        return r


@I.ir_module
class CommonBefore:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        (2, 3), "float32"
    ):
        a = R.exp(x)
        b = R.exp(x)
        s = R.add(a, b)
        if c:
            d = R.exp(x)
            r = R.multiply(d, s)
        else:
            r = s
        return r


@I.ir_module
class CommonInBranches:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        (2, 3), "float32"
    ):
        if c:
            a = R.exp(x)
            r = R.multiply(a, x)
        else:
            b = R.exp(x)
            r = R.sin(b)
        return r


@I.ir_module
class Sums:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2,), "float32"):
        y = R.sum(x, axis=1)
        return y


ILL_FORMED: list[tuple[str, Any, Stage, str]] = [
    ("forwards_aliases", AliasUsedLater, Stage.RAW, "outside DataflowBlock"),
    ("removes_uncalled", CalleesOfCallees, Stage.RAW, "is not defined"),
    ("drops_trivial_bindings", IdleAndImpure, Stage.RAW, "impure"),
    ("one_callee_per_caller", callers("n"), Stage.RAW, "Var n is defined in both"),
    ("outlines_broadcasts", SymbolicBroadcasts, Stage.RAW, "is not defined"),
    ("removes_unused_values", UnusedCast, Stage.RAW, "is not defined"),
    ("removes_unused_parameters", DefiningParameter, Stage.RAW, "is not defined"),
    ("shares_common_values", CommonInBranches, Stage.RAW, "is not defined"),
]

HARMLESS: list[tuple[str, Any, Stage, tuple[Any, ...]]] = [
    ("forwards_aliases", AliasReturned, Stage.RAW, (X,)),
    ("removes_uncalled", Callees, Stage.RAW, (X,)),
    ("removes_dead_functions", Callees, Stage.RAW, (X,)),
    ("counts_blocks", Simple, Stage.LEGALIZED, (X,)),
    ("drops_trivial_bindings", Idle, Stage.RAW, (X,)),
    ("shares_output_shapes", Simple, Stage.LEGALIZED, (X,)),
    ("one_callee_per_caller", callers(2), Stage.RAW, (X,)),
    ("outlines_broadcasts", Broadcasts, Stage.RAW, (X[0],)),
    ("removes_unused_values", UnusedValues, Stage.RAW, (X,)),
    ("removes_unused_parameters", UnusedParameter, Stage.RAW, (X,)),
    ("removes_unused_outputs", UnusedOutput, Stage.RAW, (X,)),
    ("expands_likes", Likes, Stage.RAW, (X,)),
    ("leaves_dataflow", Dataflow, Stage.RAW, (X, np.array(True))),
    ("shares_common_values", CommonBefore, Stage.RAW, (X, np.array(True))),
    ("marks_reductions", Simple, Stage.LEGALIZED, (X,)),
    ("unrolls_short_loops", LongKernel, Stage.LEGALIZED, (np.ones((2, 9), "float32"),)),
]
UNCHANGED = ("unrolls_short_loops", "shares_output_shapes")
"""Passes after which the module is structurally equal."""


def run(name: str, mod: tvm.IRModule, stage: Stage = Stage.RAW) -> tvm.IRModule:
    before = advance(mod, stage)
    assert checkers.flaw(before) is None
    text = save_json(before)
    after = getattr(structure, name)()(before)
    assert save_json(before) == text
    return after


@pytest.mark.parametrize(("name", "mod", "stage", "text"), ILL_FORMED)
def test_leaves_it_ill_formed(name: str, mod: tvm.IRModule, stage: Stage, text: str) -> None:
    flaw = checkers.flaw(run(name, mod, stage))
    assert flaw is not None
    assert text in flaw.title


def test_loses_a_public_prim_func() -> None:
    after = run("removes_dead_functions", PublicKernel)
    assert [gvar.name_hint for gvar in after.get_global_vars()] == ["main"]


def test_loses_module_attributes() -> None:
    assert not run(
        "counts_blocks", Simple.with_attr("system_lib_prefix", "x_"), Stage.LEGALIZED
    ).attrs


def test_loses_the_device() -> None:
    assert Devices["main"].ret_ty.vdevice is not None
    after = run("shares_output_shapes", Devices, Stage.LEGALIZED)
    assert after["main"].body.body.ty.vdevice is None


def test_changes_what_a_public_function_returns() -> None:
    after = run("removes_unused_outputs", OutputsReturned)
    assert len(after["other"].body.body.ty.fields) == 1


def test_changes_the_dtype() -> None:
    assert str(run("expands_likes", LikesOfOtherType)["main"].body.body.ty.dtype) == "float32"


def test_leaves_dataflow_blocks() -> None:
    after = run("leaves_dataflow", LocalDataflow)
    assert checkers.flaw(after) is None
    assert sum(isinstance(block, relax.DataflowBlock) for block in blocks_of(after)) == 1


def test_makes_a_private_prim_func_public() -> None:
    after = run("marks_reductions", Sums, Stage.LEGALIZED)
    assert all(is_public(func) for func in after.functions.values())


def test_makes_a_public_prim_func_private() -> None:
    assert is_public(PublicKernel["kernel"])
    after = run("unrolls_short_loops", PublicKernel)
    assert not is_public(after["kernel"])


@pytest.mark.parametrize(("name", "mod", "stage", "inputs"), HARMLESS)
def test_is_right_without_the_trigger(
    name: str, mod: tvm.IRModule, stage: Stage, inputs: tuple[Any, ...]
) -> None:
    before = advance(mod, stage)
    text = save_json(before)
    pass_ = getattr(structure, name)()
    after = pass_(before)
    flaw = checkers.flaw(after)
    assert flaw is None, flaw.title
    assert save_json(before) == text
    assert tvm_ffi.structural_equal(before, after, map_free_vars=True) == (name in UNCHANGED)
    assert tvm_ffi.structural_equal(pass_(after), after, map_free_vars=True)
    assert tvm_ffi.structural_equal(before["main"].ret_ty, after["main"].ret_ty, map_free_vars=True)
    np.testing.assert_array_equal(_given(before, inputs), _given(after, inputs))


def _given(mod: tvm.IRModule, inputs: tuple[Any, ...]) -> Any:
    return evaluate(load_json(save_json(mod)), "main", inputs)


def test_each_is_tested() -> None:
    assert {name for name, *_ in HARMLESS} == {s.name for s in structure.SPECIMENS}
