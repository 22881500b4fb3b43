"""Faulty passes over PrimFuncs, for the oracles that must see what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat import ir

Pass = tvm.transform.Pass


@I.ir_module
class Module:
    """A reduction by blocks, and loops without blocks with a buffer of their own."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("reduce"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vj]

    @T.prim_func
    def other(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        C = T.alloc_buffer((6,), "int32")
        for i in range(6):
            C[i] = A[i] * 2
        for i in range(6):
            if i < 4:
                B[i] = C[i] + 1
            else:
                B[i] = C[5 - i]


def rewriting(kind: type[Any], rewrite: Callable[[Any], Any]) -> Pass:
    """A pass that replaces the nodes of a kind."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        body = tvm_ffi.structural_map(func.body, (kind, rewrite), order="post")
        return func.with_body(body)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="rewriting")


def keeps_all() -> Pass:
    """Right: one more statement, which does nothing."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        if ir.SBlockRealize is type(func.body):
            return func
        nothing = tirx.Evaluate(tirx.IntImm("int32", 0))
        return func.with_body(tirx.SeqStmt([func.body, nothing]))

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="keeps_all")


def drops_a_store() -> Pass:
    """The else of a branch is lost."""
    return rewriting(ir.IfThenElse, lambda s: tirx.IfThenElse(s.condition, s.then_case, None))


def one_short() -> Pass:
    """Loops end one iteration early."""

    def shorter(loop: Any) -> Any:
        return tirx.For(loop.loop_var, loop.min, loop.extent - 1, loop.kind, loop.body)

    return rewriting(ir.For, shorter)


def one_too_far() -> Pass:
    """Loops end one iteration late."""

    def longer(loop: Any) -> Any:
        return tirx.For(loop.loop_var, loop.min, loop.extent + 1, loop.kind, loop.body)

    return rewriting(ir.For, longer)


def vectorizes_too_far() -> Pass:
    """Six iterations become one of eight lanes."""

    def wider(loop: Any) -> Any:
        if int(loop.extent.value) != 6 or type(loop.body) is not ir.BufferStore:
            return loop
        return tirx.For(loop.loop_var, 0, 8, tirx.ForKind.VECTORIZED, loop.body)

    return tvm.transform.Sequential([rewriting(ir.For, wider), tirx.transform.VectorizeLoop()])


def loses_initial_values() -> Pass:
    """A block starts from what its buffer happens to hold."""

    def without(block: Any) -> Any:
        return ir.SBlock(block.iter_vars, block.reads, block.writes, block.name_hint, block.body)

    return rewriting(ir.SBlock, without)


def loses_an_attribute() -> Pass:
    """The promise that buffers do not alias is gone."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return func.without_attr("tirx.noalias")

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="loses_an_attribute")


def drops_a_parameter() -> Pass:
    """The last parameter of functions that do not use it is gone; so is the function that does."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        nothing = tirx.Evaluate(tirx.IntImm("int32", 0))
        return tirx.PrimFunc(list(func.params)[:1], nothing, attrs=func.attrs)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="drops_a_parameter")


def retypes_a_parameter() -> Pass:
    """A buffer has another shape."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        first = tirx.decl_buffer((48,), str(func.params[0].ty.dtype), func.params[0].name)
        nothing = tirx.Evaluate(tirx.IntImm("int32", 0))
        return tirx.PrimFunc([first, *list(func.params)[1:]], nothing, attrs=func.attrs)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="retypes_a_parameter")


def loses_a_function() -> Pass:
    """The function `other` is gone."""

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        return tvm.IRModule({"main": mod["main"]})

    return tvm.transform.module_pass(transform, opt_level=0, name="loses_a_function")


def uses_an_undefined_variable() -> Pass:
    """A loop variable escapes."""
    stray = tirx.Var("stray", "int32")

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return func.with_body(tirx.SeqStmt([tirx.Evaluate(stray), func.body]))

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="stray")


def raises() -> Pass:
    """A bug in its code."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        raise IndexError("list index out of range")

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="raises")


def counts() -> Pass:
    """Each run gives another result."""
    runs = 0

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        nonlocal runs
        runs += 1
        return func.with_attr("runs", runs)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="counts")


FAULTS = {
    "drops_a_store": "evaluated",
    "one_short": "evaluated",
    "loses_initial_values": "evaluated",
    "one_too_far": "sanitized",
    "vectorizes_too_far": "sanitized",
    "loses_an_attribute": "attributes",
    "drops_a_parameter": "signature",
    "retypes_a_parameter": "signature",
    "loses_a_function": "functions",
    "uses_an_undefined_variable": "well-formed",
    "raises": "crash",
    "counts": "deterministic",
}
"""By pass, the oracle that sees what is wrong with it."""
