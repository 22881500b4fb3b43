"""Modules on which a draft of the fourth set is wrong and its twin right; on others, both are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from ..witness import Problem, Witness
from .building import X, module, of, tensor
from .building import of_args as made

op = relax.op

BYTES = np.array([[-128, 3, 7], [9, 1, 2]], "int8")
LARGE = np.array([100, 100, 3], "int8")
CUBE = np.arange(8, dtype="float32").reshape(2, 2, 2) ** 2
SMALL = X / 100
GAIN = np.array([1, 2, 3], "float32")


def negated(x: relax.Expr) -> relax.Expr:
    return op.argmax(op.negative(x), 1)


def permuted(*axes: int) -> Callable[..., relax.Expr]:
    return of(lambda x: op.nn.softmax(op.permute_dims(x, axes), 0))


def reduced(kind: Callable[..., relax.Expr]) -> Callable[..., relax.Expr]:
    return of(lambda x: kind(op.astype(x, "int32")))


def normalized(epsilon: float) -> Callable[..., relax.Expr]:
    return of(lambda x, w: op.nn.rms_norm(x, w, [-1], epsilon))


def legal(body: Callable[..., relax.Expr], *args: Any) -> tvm.IRModule:
    return relax.transform.LegalizeOps()(made(body, *args))


def placed(device: bool) -> tvm.IRModule:
    vdevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice
    here = vdevice("llvm")
    ty = relax.TensorType((2, 3), "float32", vdevice=here if device else None)
    mod = module(of(op.zeros_like), ty)
    if device:
        mod.update_global_info("vdevice", [here])
    return mod


@I.ir_module
class LongLived:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(x)
            c = R.negative(b)
            gv = R.add(c, a)
            R.output(gv)
        return gv


def cast_to(same: bool) -> tvm.IRModule:
    """x: (n,), and y: (n,), the n of which is another one, if it is not the same."""
    n = tvm.tirx.Var("n", "int64")
    m = n if same else tvm.tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([n], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.match_cast(x, relax.TensorType([m], "float32"))
            result = builder.emit_output(op.add(y, op.ones((m,), "float32")))
        builder.emit_func_output(result)
    return builder.get()


@I.ir_module
class BranchesWithoutBlocks:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        if c:  # noqa: SIM108
            z = x
        else:
            z = y
        return z


@I.ir_module
class EqualBranches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        if c:
            a = R.add(y, x)
            z = R.tanh(a)
        else:
            b = R.add(y, x)
            z = R.tanh(b)
        return R.negative(z)


@I.ir_module
class Prints:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        _ = R.print(x, format="{}")
        return R.exp(x)


@I.ir_module
class CallsTwice:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.call_packed("first", x, ty_args=R.Tensor((2,), "float32"))
        b = R.call_packed("second", x, ty_args=R.Tensor((2,), "float32"))
        return R.subtract(b, a)


@I.ir_module
class ComputesTwice:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.exp(x)
        b = R.tanh(x)
        c = R.negative(b)
        d = R.add(c, a)
        _unused = R.negative(d)
        return d


def casting(dtype: str) -> tvm.IRModule:
    """A private function of float32 that casts its result to this."""
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", tensor(2, 3)), relax.Var("y", tensor(2, 3))
    with builder.function("f", [x], private=True):
        with builder.dataflow():
            result = builder.emit_output(op.astype(builder.emit(op.exp(x)), dtype))
        callee = builder.emit_func_output(result)
    with builder.function("main", [y]):
        with builder.dataflow():
            value = builder.emit(relax.Call(callee, [y]))
            result = builder.emit_output(op.add(value, value))
        builder.emit_func_output(result)
    return builder.get()


def taken_name() -> tvm.IRModule:
    mod = casting("float64")
    func = mod["main"].with_attr("global_symbol", "main_impl")
    mod["main_impl"] = relax.utils.copy_with_new_vars(func)
    return mod


@I.ir_module
class NestedTuples:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.exp(x)
        return ((x, y), y)


def beside(mod: tvm.IRModule) -> tvm.IRModule:
    mod["outside"] = relax.ExternFunc("outside")
    return mod


class Pair(NamedTuple):
    """A module on which the mistake shows, and one on which it does not."""

    name: str
    bad: tvm.IRModule
    good: tvm.IRModule
    args: tuple[Any, ...] | None = None
    """For main of the bad module."""


def valued(
    name: str,
    bad: Callable[..., relax.Expr],
    args: Any,
    good: Callable[..., relax.Expr],
    other: Any,
) -> Pair:
    return Pair(name, made(bad, *args), made(good, *other), args)


def compared(kind: Callable[..., relax.Expr]) -> tvm.IRModule:
    return made(of(kind), X, X)


PAIRS = [
    valued("argmax_of_negative", of(negated), (BYTES,), of(negated), (X,)),
    valued("softmax_before_permute", permuted(1, 2, 0), (CUBE,), permuted(1, 0, 2), (CUBE,)),
    valued("cast_after_reduction", reduced(op.sum), (LARGE,), reduced(op.max), (LARGE,)),
    valued("lower_rms_norm", normalized(0.1), (SMALL, GAIN), normalized(1e-5), (X, GAIN)),
    Pair("lower_binary", compared(op.less), compared(op.add)),
    Pair("drop_same_casts", cast_to(False), cast_to(True)),
    Pair("note_sizes", beside(made(of(op.exp), X)), LongLived),
    Pair("merge_branches", BranchesWithoutBlocks, EqualBranches),
    Pair("sink_calls", CallsTwice, ComputesTwice),
    Pair("drop_unused_calls", Prints, ComputesTwice),
    Pair("wrap_public", taken_name(), casting("float64")),
    Pair("lower_likes", placed(True), placed(False)),
    Pair("note_result_bytes", NestedTuples, LongLived),
]


PROBLEMS: dict[str, Problem] = {
    **dict.fromkeys(("lower_binary", "drop_same_casts"), "ill-formed"),
    **dict.fromkeys(("note_sizes", "merge_branches", "wrap_public", "note_result_bytes"), "crash"),
    **dict.fromkeys(("sink_calls", "drop_unused_calls", "lower_likes"), "interface"),
}

WITNESSES = tuple(
    witness
    for pair in PAIRS
    for witness in (
        Witness(pair.name, PROBLEMS.get(pair.name, "values"), pair.bad, pair.args),
        Witness(f"{pair.name}_fixed", None, pair.bad, pair.args),
        Witness(pair.name, None, pair.good),
        Witness(f"{pair.name}_fixed", None, pair.good),
    )
)
