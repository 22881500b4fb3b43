"""Finds the smallest subexpression that a pass gets wrong, for passes that change expressions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx

from ...compat import ir
from ...generators.ops.record import Tolerance
from ..dtypes import dtype_of
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..expected.comparison import difference
from ..expected.expectation import Expectation
from ..inspect import nodes
from ..passcall import PassCall


@dataclass(frozen=True, slots=True)
class WrongSubexpr:
    """A subexpression whose value differs after the pass, even by itself."""

    kind: str
    """The kind of its dtype, and its operator, for a finding's key."""
    text: str
    """The part before and after the pass."""


def smallest_wrong(e: Expectation, call: PassCall) -> WrongSubexpr | None:
    """The first wrong part that has no wrong parts itself, in statement order.

    None if the difference is not due to an expression alone.
    """
    func = e.mod[e.function]
    if not isinstance(func, tirx.PrimFunc):
        return None
    for place, store, whole in _expressions(func):
        for part in _parts(whole):
            alone = _storing(func, place, store, part)
            try:
                after = call.run(tvm.IRModule({e.function: alone}))[e.function]
            except Exception:  # the crash oracle checks that
                continue
            with contextlib.suppress(Unsupported, Mismatch, Undefined):
                if _differ(e, alone, after):
                    became = f"{_text(part)} becomes {_text(_stored(after))}"
                    return WrongSubexpr(_kind(part), f"wrong by itself: {became}")
    return None


def _expressions(func: tirx.PrimFunc) -> Iterator[tuple[Any, Any, Any]]:
    """Yields conditions and stored values: the statement, a store with suitable indices, and the
    expression.

    Conditions come first: if one is wrong, so are the stores under it.
    """
    for stmt in nodes(func, ir.IfThenElse):
        yield from ((stmt, store, stmt.condition) for store in nodes(stmt, ir.BufferStore)[:1])
    yield from ((store, store, store.value) for store in nodes(func, ir.BufferStore))


def _parts(expr: Any) -> list[Any]:
    """All computed parts of an expression, each after its own parts."""
    found: list[Any] = []
    leaves = (tirx.Var, tirx.IntImm, tirx.FloatImm)

    def visit(part: Any) -> None:
        if isinstance(part.ty, tvm.ir.PrimType) and not isinstance(part, leaves):
            found.append(part)

    tvm_ffi.structural_walk(expr, [(tvm.ir.Expr, visit)], order="post")
    return found


def _storing(func: tirx.PrimFunc, place: Any, store: Any, value: Any) -> tirx.PrimFunc:
    """The function reduced to one store of a value, into a buffer of its own."""
    shape = ir.tensor_of(store).ty.shape
    target = tirx.decl_buffer(list(shape), str(value.ty.dtype), "part")
    kept = ir.BufferStore(target, value, store.indices)

    nothing = ir.Evaluate(tirx.IntImm("int32", 0))

    def placed(stmt: Any) -> Any:
        return kept if stmt.same_as(place) else stmt

    def alone(stmt: Any) -> Any:
        return stmt if ir.tensor_of(stmt).same_as(target) else nothing

    body = tvm_ffi.structural_map(func.body, [(type(place), placed)], order="pre")
    body = tvm_ffi.structural_map(body, [(ir.BufferStore, alone)], order="post")
    return tirx.PrimFunc([*func.params, target], body, attrs=func.attrs)


def _stored(func: tirx.PrimFunc) -> Any:
    (store,) = nodes(func, ir.BufferStore)
    return store.value


def _text(expr: Any) -> str:
    """The expression as TVMScript, without addresses of nodes that it cannot print."""
    return re.sub(r"\(0x[0-9a-f]+\)", "", str(expr))


def _differ(e: Expectation, before: tirx.PrimFunc, after: tirx.PrimFunc) -> bool:
    results = []
    for func in (before, after):
        shape = tuple(_size(e, dim) for dim in func.params[-1].ty.shape)
        args = [*map(np.copy, e.args), np.zeros(shape, dtype_of(str(func.params[-1].ty.dtype)))]
        results.append(Evaluator(tvm.IRModule({e.function: func})).run(e.function, args))
    return difference(results[0], results[1], (), Tolerance()) is not None


def _size(e: Expectation, dim: Any) -> int:
    """The size of a dimension, from the arguments for other parameters with that dimension."""
    if isinstance(dim, tirx.IntImm):
        return int(dim.value)
    for param, arg in zip(e.mod[e.function].params, e.args, strict=True):
        for own, size in zip(getattr(param.ty, "shape", ()), np.shape(arg), strict=True):
            if own.same_as(dim):
                return int(size)
    raise Unsupported(f"dimension {dim}")


def _kind(part: Any) -> str:
    """The kind of a part, e.g. "index FloorMod"; int32 and int64, which loops use, are "index"."""
    name = getattr(getattr(part, "op", None), "name", None) or type(part).__name__
    dtype = str(getattr(part, "a", part).ty.dtype)
    group = {"int32": "index", "int64": "index", "int8": "narrow int", "int16": "narrow int"}
    return f"{group.get(dtype, dtype.rstrip('0123456789'))} {name}"
