"""Passes that bring undefined behaviour into a module that has none, and some that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.rewrite.nodes import with_type

Pass = tvm.transform.Pass


def module() -> tvm.IRModule:
    """Guards against what is undefined, and arithmetic that does not overflow."""

    @I.ir_module
    class Module:
        @R.function
        def divided(x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")) -> R.Tensor(
            (4,), "int32"
        ):
            z = R.where(R.equal(y, R.const(0, "int32")), R.const(1, "int32"), y)
            return R.floor_divide(x, z)

        @R.function
        def taken(x: R.Tensor((4,), "float32"), i: R.Tensor((3,), "int64")) -> R.Tensor(
            (3,), "float32"
        ):
            z = R.clip(i, R.prim_value(0), R.prim_value(3))
            return R.take(x, z, axis=0)

        @R.function
        def shifted(x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")) -> R.Tensor(
            (4,), "int32"
        ):
            z = R.bitwise_and(y, R.const(7, "int32"))
            return R.right_shift(x, z)

        @R.function
        def cast(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "uint8"):
            z = R.maximum(x, R.const(0.0, "float32"))
            return R.astype(z, "uint8")

        @R.function
        def average(x: R.Tensor((4,), "int64"), y: R.Tensor((4,), "int64")) -> R.Tensor(
            (4,), "int64"
        ):
            distance = R.subtract(y, x)
            half = R.right_shift(distance, R.const(1, "int64"))
            return R.add(x, half)

        @R.function
        def sums(
            x: R.Tensor((4,), "int64"), y: R.Tensor((4,), "int64"), z: R.Tensor((4,), "int64")
        ) -> R.Tensor((4,), "int64"):
            first = R.add(x, y)
            return R.subtract(first, z)

        @R.function
        def product(x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")) -> R.Tensor(
            (4,), "int32"
        ):
            return R.multiply(x, y)

        @R.function(private=True)
        def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.nn.relu(x)

        @R.function
        def calls(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Module
            y: R.Tensor((4,), "float32") = cls.helper(x)
            return y

    return Module


Look = Callable[[relax.Expr], relax.Expr]
"""What a variable is bound to; any other expression as it is."""


def _rewriting(name: str, change: Callable[[relax.Call, Look], relax.Expr | None]) -> Pass:
    """Replaces each call of an operator by the result of `change`; None: it stays."""

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            if not isinstance(call.op, tvm.ir.Op):
                return call
            changed = change(call, self.look)
            return call if changed is None else changed

        def look(self, expr: relax.Expr) -> relax.Expr:
            bound = self.lookup_binding(expr) if isinstance(expr, relax.Var) else None
            return expr if bound is None else bound

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        mutator = Mutator(mod)
        for gvar, func in mod.functions_items():
            mutator.builder_.update_func(gvar, mutator.visit_expr(func))
        return mutator.builder_.get()

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def _is(expr: Any, op: str) -> bool:
    named = isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op)
    return named and expr.op.name == f"relax.{op}"


def _unguarded(guard: str, op: str, at: int, guarded_at: int = 0) -> Pass:
    def change(call: relax.Call, look: Look) -> relax.Expr | None:
        if not _is(call, op) or not _is(guarded := look(call.args[at]), guard):
            return None
        args = list(call.args)
        args[at] = guarded.args[guarded_at]
        return relax.Call(call.op, args, call.attrs)

    return _rewriting(f"Drops_{guard}", change)


def divides_by_what_may_be_zero() -> Pass:
    return _unguarded("where", "floor_divide", 1, 2)


def takes_what_may_be_outside() -> Pass:
    return _unguarded("clip", "take", 1)


def shifts_by_anything() -> Pass:
    return _unguarded("bitwise_and", "right_shift", 1)


def converts_anything() -> Pass:
    return _unguarded("maximum", "astype", 0)


def averages_by_the_sum() -> Pass:
    """x + (y - x >> 1) becomes x + y >> 1: the sum may overflow where the difference does not."""

    def change(call: relax.Call, look: Look) -> relax.Expr | None:
        if not _is(call, "add") or not _is(half := look(call.args[1]), "right_shift"):
            return None
        total = relax.op.add(call.args[0], look(half.args[0]).args[0])
        return relax.op.right_shift(total, half.args[1])

    return _rewriting("AveragesByTheSum", change)


def multiplies_in_float32() -> Pass:
    """Right up to 2^24."""

    def change(call: relax.Call, look: Look) -> relax.Expr | None:
        if not _is(call, "multiply") or str(call.args[0].ty.dtype) != "int32":
            return None
        wide = [relax.op.astype(arg, "float32") for arg in call.args]
        return relax.op.astype(relax.op.multiply(*wide), "int32")

    return _rewriting("MultipliesInFloat32", change)


def _with_helper(
    name: str, change: Callable[[Any, relax.Var, relax.BlockBuilder], relax.Expr]
) -> Pass:
    """Gives the private function another result."""

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        gvar = mod.get_global_var("helper")
        (old,) = mod[gvar].params
        builder = relax.BlockBuilder()
        param = relax.Var("x", old.ty)
        with builder.function("helper", [param], private=True):
            builder.emit_func_output(builder.emit(change(gvar, param, builder)))
        made = builder.get()["helper"]
        functions = {g: made if g.same_as(gvar) else f for g, f in mod.functions_items()}
        return tvm.IRModule(functions, attrs=mod.attrs)

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def _recursive(name: str, argument: Callable[[relax.Var], relax.Expr]) -> Pass:
    def change(gvar: Any, x: relax.Var, builder: relax.BlockBuilder) -> relax.Expr:
        call = relax.Call(gvar, [builder.emit(argument(x))])
        return with_type(call, x.ty)

    return _with_helper(name, change)


def calls_itself() -> Pass:
    return _recursive("CallsItself", lambda x: x)


def calls_itself_on_more() -> Pass:
    return _recursive("CallsItselfOnMore", lambda x: relax.op.add(x, relax.const(1.0)))


@I.ir_module
class Products:
    @T.prim_func
    def products(A: T.Buffer((4,), "int64")):
        for i in T.serial(T.int64(4)):
            A[i] = A[i] * T.int64(2**30)


def narrows_products() -> Pass:
    """Products of int64 are computed in int32."""

    def narrow(product: Any) -> Any:
        a, b = (tirx.Cast("int32", each) for each in (product.a, product.b))
        return tirx.Cast("int64", tirx.Mul(a, b))

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        func = mod["products"]
        body = tvm_ffi.structural_map(func.body, (tirx.Mul, narrow), order="post")
        return tvm.IRModule({"products": func.with_body(body)})

    return tvm.transform.module_pass(transform, opt_level=0, name="NarrowsProducts")


@I.ir_module
class Quotients:
    @T.prim_func
    def of_elements(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            B[i] = T.floordiv(A[i], 7)

    @T.prim_func
    def of_a_parameter(n: T.int64, B: T.Buffer((1,), "int64")):
        B[0] = T.floordiv(n, T.int64(7))


def _of_quotients(name: str, change: Callable[[Any], Any]) -> Pass:
    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return func.with_body(tvm_ffi.structural_map(func.body, (tirx.FloorDiv, change)))

    return tirx.transform.prim_func_pass(transform, opt_level=0, name=name)


def _times(expr: Any, number: int) -> Any:
    return tirx.Mul(expr, tirx.const(number, str(expr.ty.dtype)))


def multiplies_both() -> Pass:
    """x / 7 becomes (x * c) / (7 * c), of which code generation makes x / 7 again."""

    def change(expr: Any) -> Any:
        factor = 2 ** (27 if str(expr.ty.dtype) == "int32" else 59)
        return tirx.FloorDiv(_times(expr.a, factor), _times(expr.b, factor))

    return _of_quotients("MultipliesBoth", change)


def shifts_too_far() -> Pass:
    """x / 7 becomes a quotient that is cut off, of x + 7 * c: right until the sum overflows."""

    def change(expr: Any) -> Any:
        dtype = str(expr.ty.dtype)
        shift = (2 ** (31 if dtype == "int32" else 63) - 1) // 7 - 2
        total = tirx.Add(expr.a, tirx.const(7 * shift, dtype))
        return tirx.Sub(tirx.Div(total, expr.b), tirx.const(shift, dtype))

    return _of_quotients("ShiftsTooFar", change)


def subtracts_and_adds() -> Pass:
    """x / 7 becomes ((x - c) + c) / 7: what overflows comes back."""

    def change(expr: Any) -> Any:
        shift = tirx.const(2**30, str(expr.ty.dtype))
        return tirx.FloorDiv(tirx.Add(tirx.Sub(expr.a, shift), shift), expr.b)

    return _of_quotients("SubtractsAndAdds", change)


FAULTS = {
    divides_by_what_may_be_zero: "division of an integer by zero",
    takes_what_may_be_outside: "index outside",
    shifts_by_anything: "shift by the width or more",
    converts_anything: "conversion to an integer that cannot hold the number",
    calls_itself: "recursion without end",
}
"""The passes that must be caught, and what is undefined afterwards."""


def reassociates() -> Pass:
    """x + y - z becomes x - z + y: another sum may overflow, and the values stay."""

    def change(call: relax.Call, look: Look) -> relax.Expr | None:
        if not _is(call, "subtract") or not _is(total := look(call.args[0]), "add"):
            return None
        return relax.op.add(relax.op.subtract(total.args[0], call.args[1]), total.args[1])

    return _rewriting("Reassociates", change)


def calls_relu() -> Pass:
    return _with_helper("CallsRelu", lambda gvar, x, b: relax.op.maximum(x, relax.const(0.0)))


def legalizes() -> Pass:
    return relax.transform.LegalizeOps()


CORRECT = (reassociates, calls_relu, legalizes)
