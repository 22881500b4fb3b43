"""Passes on modules of PrimFuncs, with one mistake each; `--family tensorir` makes such modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx


def on_bodies(name: str, entry: tuple[type, Callable[[Any], Any]]) -> tvm.transform.Pass:
    """A pass that changes the statements of one class in PrimFuncs, inner ones first."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: object) -> tirx.PrimFunc:
        body = tvm_ffi.structural_map(func.body, entry)
        return func if body.same_as(func.body) else func.with_body(body)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name=name)


def has(root: Any, *kinds: type) -> bool:
    """It has a node of one of these classes."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, (kinds, found.append))
    return bool(found)


def substituted(root: Any, old: tirx.Var, new: Any) -> Any:
    """With an expression in place of a variable."""
    return tvm_ffi.structural_map(root, (tirx.Var, lambda var: new if var.same_as(old) else var))


def is_number(expr: Any, number: int) -> bool:
    """This number."""
    return isinstance(expr, tirx.IntImm) and int(expr.value) == number


def drop_unit_loops() -> tvm.transform.Pass:
    """The variable of a loop of one iteration becomes 0 wherever the loop begins."""

    def dropped(loop: tirx.For) -> Any:
        serial = loop.kind == tirx.ForKind.SERIAL and not loop.annotations
        if not serial or not is_number(loop.extent, 1) or has(loop, tirx.Break, tirx.Continue):
            return loop
        return substituted(loop.body, loop.loop_var, tirx.IntImm(loop.loop_var.ty, 0))

    return on_bodies("DropUnitLoops", (tirx.For, dropped))


def zero_based_loops() -> tvm.transform.Pass:
    """A loop that is moved to begin at 0 loses its step."""

    def moved(loop: tirx.For) -> tirx.For:
        serial = loop.kind in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED)
        if not serial or is_number(loop.min, 0):
            return loop
        ty = loop.loop_var.ty
        var = tirx.Var(loop.loop_var.name, ty)
        body = substituted(loop.body, loop.loop_var, var + loop.min)
        zero = tirx.IntImm(ty, 0)
        return tirx.For(var, zero, loop.extent, loop.kind, body, annotations=loop.annotations)

    return on_bodies("ZeroBasedLoops", (tirx.For, moved))


def forward_stores() -> tvm.transform.Pass:
    """A stored value that is used instead of a load may itself read what the store overwrote."""

    def forwarded(seq: tirx.SeqStmt) -> Any:
        stmts = list(seq.seq)
        for i in range(1, len(stmts)):
            if isinstance(stmts[i], tirx.BufferStore) and can_forward(stmts[i - 1]):
                stmts[i] = using(stmts[i], stmts[i - 1])
        same = all(new.same_as(old) for new, old in zip(stmts, seq.seq, strict=True))
        return seq if same else tirx.SeqStmt(stmts)

    def can_forward(stmt: Any) -> bool:
        if not isinstance(stmt, tirx.BufferStore) or has(stmt.value, tvm.ir.Call, tirx.Let):
            return False  # a call may have effects, and a variable is bound once
        return not any(has(index, tvm.ir.TensorLoad) for index in stmt.indices)

    def using(stmt: tirx.BufferStore, before: tirx.BufferStore) -> tirx.BufferStore:
        def known(load: Any) -> Any:
            same = load.source.same_as(before.buffer)
            if same and tvm_ffi.structural_equal(load.indices, before.indices):
                return before.value
            return load

        value = tvm_ffi.structural_map(stmt.value, (tvm.ir.TensorLoad, known))
        if value.same_as(stmt.value):
            return stmt
        return tirx.BufferStore(stmt.buffer, value, stmt.indices)

    return on_bodies("ForwardStores", (tirx.SeqStmt, forwarded))
