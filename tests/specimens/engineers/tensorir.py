"""Passes on the PrimFuncs of a module of Relax, with one mistake each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx


def on_kernels(name: str, change: Callable[[tirx.PrimFunc], tirx.PrimFunc]) -> tvm.transform.Pass:
    """A pass that changes PrimFuncs."""

    def transform(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        functions = {
            gvar: change(func) if isinstance(func, tirx.PrimFunc) else func
            for gvar, func in mod.functions_items()
        }
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def nodes(root: Any, *kinds: type) -> list[Any]:
    """The nodes of these classes."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, (kinds, found.append))
    return found


def is_plain(stmt: Any) -> bool:
    """A serial loop over a known number of iterations, all of which are done."""
    return (
        isinstance(stmt, tirx.For)
        and stmt.kind == tirx.ForKind.SERIAL
        and not stmt.annotations
        and isinstance(stmt.extent, tirx.IntImm)
        and (stmt.step is None or is_number(stmt.step, 1))
        and not nodes(stmt.body, tirx.Break, tirx.Continue)
    )


def is_number(expr: Any, number: int) -> bool:
    """This number."""
    return isinstance(expr, tirx.IntImm) and int(expr.value) == number


def flatten_loop_nests() -> tvm.transform.Pass:
    """The outer index is the quotient by the extent of the outer loop, not of the inner one."""

    def flattened(func: tirx.PrimFunc) -> tirx.PrimFunc:
        return func.with_body(tvm_ffi.structural_map(func.body, (tirx.For, flat)))

    def flat(outer: tirx.For) -> tirx.For:
        inner = outer.body
        if not is_plain(outer) or not is_plain(inner):
            return outer
        if not is_number(outer.min, 0) or not is_number(inner.min, 0):
            return outer
        dtype = outer.loop_var.ty
        if not tvm_ffi.structural_equal(dtype, inner.loop_var.ty):
            return outer
        rows, columns = int(outer.extent.value), int(inner.extent.value)
        if not 0 < rows * columns < 2**31:
            return outer
        fused = tirx.Var(f"{outer.loop_var.name}_{inner.loop_var.name}", dtype)
        body = substituted(
            inner.body,
            (outer.loop_var, tirx.floordiv(fused, tirx.IntImm(dtype, rows))),
            (inner.loop_var, tirx.floormod(fused, tirx.IntImm(dtype, columns))),
        )
        zero, extent = tirx.IntImm(dtype, 0), tirx.IntImm(dtype, rows * columns)
        return tirx.For(fused, zero, extent, tirx.ForKind.SERIAL, body)

    return on_kernels("FlattenLoopNests", flattened)


def substituted(root: Any, *pairs: tuple[tirx.Var, Any]) -> Any:
    """With other expressions in place of variables."""

    def replaced(var: tirx.Var) -> Any:
        return next((new for old, new in pairs if var.same_as(old)), var)

    return tvm_ffi.structural_map(root, (tirx.Var, replaced))


def unroll_tiny_loops() -> tvm.transform.Pass:
    """The copies of the body of a loop define the same variables, each of them again."""

    def unrolled(func: tirx.PrimFunc) -> tirx.PrimFunc:
        return func.with_body(tvm_ffi.structural_map(func.body, (tirx.For, unroll)))

    def unroll(loop: tirx.For) -> Any:
        if not is_plain(loop) or not is_number(loop.min, 0):
            return loop
        extent = int(loop.extent.value)
        if not 1 <= extent <= 4:
            return loop
        copies: list[Any] = []
        for i in range(extent):
            index = tirx.IntImm(loop.loop_var.ty, i)
            copies += statements(substituted(loop.body, (loop.loop_var, index)))
        return copies[0] if len(copies) == 1 else tirx.SeqStmt(copies)

    return on_kernels("UnrollTinyLoops", unrolled)


def fuse_adjacent_loops() -> tvm.transform.Pass:
    """Two loops become one although the second reads what later iterations of the first write."""

    def fused(func: tirx.PrimFunc) -> tirx.PrimFunc:
        if nodes(func, tirx.DeclBuffer, tvm.s_tir.MatchBufferRegion):
            return func  # one buffer may have several names
        while not (new := tvm_ffi.structural_map(func.body, (tirx.SeqStmt, joined))).same_as(
            func.body
        ):
            func = func.with_body(new)
        return func

    def joined(seq: tirx.SeqStmt) -> Any:
        done: list[Any] = []
        for stmt in seq.seq:
            if done and can_join(done[-1], stmt):
                done[-1] = join(done[-1], stmt)
            else:
                done.append(stmt)
        if len(done) == len(seq.seq):
            return seq
        return done[0] if len(done) == 1 else tirx.SeqStmt(done)

    def join(first: tirx.For, second: tirx.For) -> tirx.For:
        then = substituted(second.body, (second.loop_var, first.loop_var))
        body = tirx.SeqStmt([*statements(first.body), *statements(then)])
        return tirx.For(first.loop_var, first.min, first.extent, first.kind, body)

    def can_join(first: Any, second: Any) -> bool:
        if not is_plain(first) or not is_plain(second):
            return False
        if nodes(first, tirx.Evaluate) or nodes(second, tirx.Evaluate):
            return False
        alike = all(
            tvm_ffi.structural_equal(a, b)
            for a, b in (
                (first.min, second.min),
                (first.extent, second.extent),
                (first.loop_var.ty, second.loop_var.ty),
            )
        )
        # what the second loop writes is its own
        return alike and not written(second) & (written(first) | read(first))

    def written(stmt: Any) -> set[Any]:
        return {store.buffer for store in nodes(stmt, tirx.BufferStore)}

    def read(stmt: Any) -> set[Any]:
        return {load.source for load in nodes(stmt, tvm.ir.TensorLoad)}

    return on_kernels("FuseAdjacentLoops", fused)


def statements(stmt: Any) -> list[Any]:
    """Those of a sequence; any other one by itself."""
    return list(stmt.seq) if isinstance(stmt, tirx.SeqStmt) else [stmt]
