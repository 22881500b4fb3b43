"""Faults of PrimFuncs found with TVM's own arithmetic: what a reproducer shows.

It walks the loops of a PrimFunc and looks at indices only, so it is short enough to read. What
depends on data (an index that is loaded) it does not see; the sanitizer does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tvm
from tvm import tirx

from ..inspect import bindings_of, calls_of, op_name


def aliased_operands(mod: tvm.IRModule) -> Iterator[str]:
    """In-place calls that write to a tensor of which another operand is a view.

    Only of PrimFuncs whose attribute `tirx.noalias` promises that there is none.
    """
    values: dict[Any, Any] = {b.var: getattr(b, "value", None) for b in bindings_of(mod)}

    def memory(var: Any) -> Any:
        while op_name(values.get(var)) == "relax.reshape":
            var = values[var].args[0]
        return var

    for call in calls_of(mod, "relax.call_tir_inplace"):
        gvar, operands = call.args[:2]
        attrs = mod[gvar].attrs
        if attrs is None or not attrs.get("tirx.noalias"):
            continue
        for place in map(int, call.attrs.inplace_indices):
            written = operands[place]
            for i, x in enumerate(operands):
                if not x.same_as(written) and memory(x).same_as(memory(written)):
                    yield f"{gvar.name_hint} writes to operand {place}, which operand {i} views"


def accesses_outside(func: tirx.PrimFunc, args: Sequence[Any]) -> Iterator[str]:
    """Loads and stores whose indices are outside of their buffers, loop by loop.

    Args:
        args: NumPy arrays, whose shapes give symbolic dimensions their sizes.
    """
    analyzer = (tvm.sym if hasattr(tvm, "sym") else tvm.arith).Analyzer()

    def bind(var: Any, value: Any) -> None:
        if isinstance(value, int):
            value = tirx.IntImm(str(var.ty.dtype), value)
        analyzer.bind(var, value, allow_override=True)

    def number(expr: Any) -> int | None:
        found = analyzer.simplify(expr)
        return int(found.value) if isinstance(found, tirx.IntImm) else None

    def touched(kind: str, buffer: Any, at: Sequence[Any]) -> Iterator[str]:
        indices, shape = list(map(number, at)), list(map(number, buffer.shape))
        pairs = zip(indices, shape, strict=True)
        if any(i is not None and size is not None and not 0 <= i < size for i, size in pairs):
            yield f"{kind} {buffer.name}{indices}, a buffer of shape {shape}"

    def loads(expr: Any) -> Iterator[str]:
        name = str(getattr(getattr(expr, "op", None), "name", ""))
        select = type(expr).__name__ == "Select"
        if select or name.endswith("if_then_else"):
            condition, yes, no = (
                (expr.condition, expr.true_value, expr.false_value) if select else expr.args
            )
            yield from loads(condition)
            taken = number(condition)
            # Otherwise it depends on data which one is looked at.
            if taken is not None:
                yield from loads(yes if taken else no)
            return
        if type(expr).__name__ in ("TensorLoad", "BufferLoad"):
            source = expr.source if hasattr(expr, "source") else expr.buffer
            yield from touched("load of", source, expr.indices)
        for field in ("a", "b", "value"):
            if isinstance(getattr(expr, field, None), tvm.ir.Expr):
                yield from loads(getattr(expr, field))
        for part in (*getattr(expr, "args", ()), *getattr(expr, "indices", ())):
            yield from loads(part)

    def walk(stmt: Any) -> Iterator[str]:
        kind = type(stmt).__name__
        if kind == "For":
            start = number(stmt.min) or 0
            for i in range(start, start + (number(stmt.extent) or 0)):
                bind(stmt.loop_var, i)
                yield from walk(stmt.body)
        elif kind.endswith("BlockRealize"):
            values = [analyzer.simplify(value) for value in stmt.iter_values]
            if number(stmt.predicate) == 0:
                return
            for axis, value in zip(stmt.block.iter_vars, values, strict=True):
                bind(axis.var, value)
            yield from walk(stmt.block.body)
        elif kind == "SeqStmt":
            for part in stmt.seq:
                yield from walk(part)
        elif kind == "IfThenElse":
            yield from loads(stmt.condition)
            taken = number(stmt.condition)
            branch = stmt.then_case if taken else stmt.else_case
            if taken is not None and branch is not None:
                yield from walk(branch)
        elif kind == "BufferStore":
            yield from touched("store to", stmt.buffer, stmt.indices)
            yield from loads(stmt.value)
        elif hasattr(stmt, "body"):
            yield from walk(stmt.body)

    for param, arg in zip(func.params, args, strict=True):
        for dim, size in zip(getattr(param, "shape", ()), getattr(arg, "shape", ()), strict=True):
            if isinstance(dim, tirx.Var):
                bind(dim, int(size))
    yield from walk(func.body)
