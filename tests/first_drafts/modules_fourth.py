"""Modules on which the passes of the fourth set act, some of them wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat.serialization import load_json, save_json
from tests.first_drafts.modules import X, const, module, of, tensor

op = relax.op


def made(body: Callable[..., relax.Expr], *args: Any) -> tvm.IRModule:
    return module(body, *(tensor(*arg.shape, dtype=str(arg.dtype)) for arg in args))


BYTES = np.array([[-128, 3, 7], [9, 1, 2]], "int8")
NEGATIVE = np.array([[-9, -1, 5], [7, -8, 0]], "int32")
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


def masked(kind: Callable[..., relax.Expr]) -> Callable[..., relax.Expr]:
    return of(lambda x: kind(x, const(8, "int32")))


def from_seven(x: relax.Expr) -> relax.Expr:
    return op.subtract(op.subtract(const(7, "int32"), x), const(2, "int32"))


def minus_seven(x: relax.Expr) -> relax.Expr:
    return op.subtract(op.subtract(x, const(7, "int32")), const(2, "int32"))


def clipped(*bounds: float) -> Callable[..., relax.Expr]:
    a, b, c, d = (relax.prim_value(bound) for bound in bounds)
    return of(lambda x: op.clip(op.clip(x, a, b), c, d))


def normalized(epsilon: float) -> Callable[..., relax.Expr]:
    return of(lambda x, w: op.nn.rms_norm(x, w, [-1], epsilon))


def legal(body: Callable[..., relax.Expr], *args: Any) -> tvm.IRModule:
    return relax.transform.LegalizeOps()(made(body, *args))


def with_public_kernel(mod: tvm.IRModule, symbol: str, public: bool) -> tvm.IRModule:
    (gvar,) = (g for g in mod.get_global_vars() if g.name_hint != "main")
    kernel = load_json(save_json(mod))[gvar.name_hint]
    mod["unused"] = kernel.with_attr("global_symbol", symbol) if public else kernel
    return mod


def published(mod: tvm.IRModule) -> tvm.IRModule:
    (gvar,) = (g for g in mod.get_global_vars() if g.name_hint != "main")
    mod[gvar] = mod[gvar].with_attr("global_symbol", gvar.name_hint)
    return mod


@I.ir_module
class Batched:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32")) -> R.Tensor((2,), "float32"):
        return R.mean(x, axis=[0])


@I.ir_module
class RowsOfBatch:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n",), "float32"):
        return R.mean(x, axis=[1])


def placed(device: bool) -> tvm.IRModule:
    vdevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice
    here = vdevice("llvm")
    ty = relax.TensorType((2, 3), "float32", vdevice=here if device else None)
    mod = module(of(op.zeros_like), ty)
    if device:
        mod.update_global_info("vdevice", [here])
    return mod


def heavy(b: relax.BlockBuilder, x: relax.Expr, y: relax.Expr) -> relax.Expr:
    product = b.emit(op.matmul(b.emit(op.exp(x)), y))
    return op.tanh(product)


@I.ir_module
class OnlyHeavy:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3, 2), "float32")) -> R.Tensor(
        (2, 2), "float32"
    ):
        with R.dataflow():
            z = R.matmul(x, y)
            R.output(z)
        return z


@I.ir_module
class DefinesInDataflow:
    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor("float32", ndim=1):
        with R.dataflow():
            n = T.int64()
            y = R.match_cast(x, R.Tensor((n,), "float32"))
            z = R.ones((n,), "float32")
            gv = R.add(z, y)
            R.output(gv)
        return gv


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
class BranchOfUnknown:
    @R.function
    def main(
        c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32"), s: R.Tensor(("n",), "float32")
    ) -> R.Tensor("float32", ndim=1):
        n = T.int64()
        if c:
            a = R.ones((n,), "float32")
            y = R.exp(a)
        else:
            b = R.zeros((n,), "float32")
            y = R.tanh(b)
        return y


@I.ir_module
class Branching:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        if c:
            a = R.add(y, y)
            z = R.tanh(a)
        else:
            z = R.multiply(y, x)
        return z


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


@I.ir_module
class GivesConstants:
    @R.function(private=True)
    def scaled(x: R.Tensor((3,), "float32"), c: R.Tensor((), "float32")) -> R.Tensor(
        (3,), "float32"
    ):
        return R.multiply(x, c)

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = GivesConstants
        y = cls.scaled(x, R.const(3.0, "float32"))
        return cls.scaled(y, R.const(5.0, "float32"))


@I.ir_module
class GivesOneConstant:
    @R.function(private=True)
    def scaled(x: R.Tensor((3,), "float32"), c: R.Tensor((), "float32")) -> R.Tensor(
        (3,), "float32"
    ):
        return R.multiply(x, c)

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = GivesOneConstant
        y = cls.scaled(x, R.const(3.0, "float32"))
        return cls.scaled(y, R.const(3.0, "float32"))


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


def halves(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return relax.TupleGetItem(b.emit(op.split(x, [1], 0)), 1)


def twice(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return op.exp(b.emit(op.exp(x)))


def with_copied_kernel() -> tvm.IRModule:
    """Two equal kernels, each of which is called."""
    mod = legal(twice, X)
    (kernel,) = (g for g in mod.get_global_vars() if g.name_hint != "main")
    mod["exp_again"] = load_json(save_json(mod))[kernel.name_hint]
    main, copy = mod["main"], mod.get_global_var("exp_again")
    relax.expr._update_type(copy, kernel.ty)
    (block,) = main.body.blocks
    first, second, *rest = block.bindings
    call = second.value
    call = relax.Call(call.op, [copy, *call.args[1:]], call.attrs, call.ty_args)
    call = relax.BlockBuilder(mod).normalize(call)
    bindings = [first, relax.VarBinding(second.var, call), *rest]
    body = relax.SeqExpr([relax.DataflowBlock(bindings)], main.body.body)
    body = relax.BlockBuilder(mod).normalize(body)
    mod["main"] = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
    return mod
