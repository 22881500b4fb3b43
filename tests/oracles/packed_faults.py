"""Passes that put PrimFuncs behind the packed API, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.tensorir.packed_api import FIELD
from relaxfuzz.oracles.tensorir.packed_stack import BEGIN, LANES

Pass = tvm.transform.Pass


@I.ir_module
class Plain:
    """Numbers of several kinds, a size and strides that the caller chooses."""

    @T.prim_func
    def main(
        A: T.Buffer((3, 4), "bfloat16"),
        s: T.int32,
        B: T.Buffer((3, 4), "float32", strides=("s0", "s1")),
        f: T.float32,
        C: T.Buffer((3, 4), "float32"),
        b: T.bool,
    ):
        for i, j in T.grid(3, 4):
            B[i, j] = T.exp(T.Cast("float32", A[i, j])) * f + T.Cast("float32", s)
            C[i, j] = T.if_then_else(b, B[i, j], T.float32(-1))


def bound(mod: tvm.IRModule) -> tvm.IRModule:
    """As it comes to MakePackedAPI."""
    target = tvm.target.Target("llvm", host="llvm")
    for each in (
        tirx.transform.BindTarget(target),
        tirx.transform.FlattenBuffer(),
        tirx.transform.BF16ComputeLegalize(),
        tirx.transform.AnnotateEntryFunc(),
        tirx.transform.SplitHostDevice(),
    ):
        mod = each(mod)
    return mod


def packs() -> Pass:
    """Right."""
    return tirx.transform.MakePackedAPI()


def _then(kind: type[Any], rewrite: Callable[[Any], Any], first: Pass | None = None) -> Pass:
    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return func.with_body(tvm_ffi.structural_map(func.body, (kind, rewrite), order="post"))

    faulty = tirx.transform.prim_func_pass(transform, opt_level=0, name="faulty")
    return tvm.transform.Sequential([packs() if first is None else first, faulty])


def _field(rewrite: Callable[[int, int], tuple[int, int]]) -> Pass:
    """Another place, or another field, of what is read of arguments."""

    def changed(call: Any) -> Any:
        if getattr(call.op, "name", "") != FIELD:
            return call
        base, *numbers = call.args
        other = rewrite(*(int(each.value) for each in numbers))
        fields = [tirx.IntImm("int32", number) for number in other]
        return tvm.ir.Call(call.op, [base, *fields], ret_ty=call.ty)

    return _then(tvm.ir.Call, changed)


def swaps_arguments() -> Pass:
    """Two tensors of one type in each other's place."""
    swapped = {2: 4, 4: 2}
    return _field(lambda place, kind: (swapped.get(place, place) if kind == 15 else place, kind))


def swaps_strides() -> Pass:
    """The stride of a row is taken for that of a column."""
    return _field(lambda place, kind: (1 - place if kind == 17 else place, kind))


def is_too_strict() -> Pass:
    """An assertion wants one dimension more."""

    def stricter(stmt: Any) -> Any:
        condition = stmt.condition
        if "ndim" not in "".join(part.value for part in stmt.message_parts):
            return stmt
        return tirx.AssertStmt(condition.a + 1 == condition.b, stmt.error_kind, stmt.message_parts)

    return _then(ir.AssertStmt, stricter)


def asks_for_other_lanes() -> Pass:
    """An assertion wants elements of two more scalars."""

    def stricter(equal: Any) -> Any:
        lanes = getattr(getattr(equal.a, "op", None), "name", "") == FIELD
        if not lanes or int(equal.a.args[2].value) != LANES:
            return equal
        return equal.a + tirx.const(2, equal.a.ty.dtype) == equal.b

    return _then(ir.EQ, stricter)


def lowers() -> Pass:
    """Right."""
    return tirx.transform.LowerIntrin()


def lowers_to_another_intrinsic() -> Pass:
    """An exponential becomes a logarithm."""

    def other(call: Any) -> Any:
        if getattr(call.op, "name", "") != "tirx.exp":
            return call
        return tirx.log(call.args[0])

    return tvm.transform.Sequential([_then(tvm.ir.Call, other, _nothing()), lowers()])


def calls() -> Pass:
    """Right."""
    return tirx.transform.LowerTVMBuiltin()


def forgets_where_arrays_begin() -> Pass:
    """The arrays of calls begin where their memory does."""

    def other(call: Any) -> Any:
        if getattr(call.op, "name", "") != "tirx.tvm_struct_set" or int(call.args[2]) != BEGIN:
            return call
        zero = tirx.IntImm("uint64", 0)
        return tvm.ir.Call(call.op, [*call.args[:3], zero], ret_ty=call.ty)

    return _then(tvm.ir.Call, other, calls())


def _nothing() -> Pass:
    return tvm.transform.Sequential([])


FAULTS = ("swaps_arguments", "swaps_strides", "is_too_strict")
