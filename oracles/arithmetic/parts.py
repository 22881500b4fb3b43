"""The smallest part of an expression that a pass gets wrong, for passes that change expressions."""

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
from ..inspect import nodes
from ..passcall import PassCall
from ..values.comparison import difference
from ..values.expectation import Expectation


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression that by itself has another value after the pass."""

    kind: str
    """The kind of its dtype, and its operator: what a finding's key may name."""
    text: str
    """What it is, and what it becomes."""


def smallest_wrong(e: Expectation, call: PassCall) -> Part | None:
    """The first part, of whose own parts none is wrong, in the order of the statements.

    None where the difference is not that of an expression alone.
    """
    func = e.mod[e.function]
    if not isinstance(func, tirx.PrimFunc):
        return None
    for place, store, whole in _expressions(func):
        for part in _parts(whole):
            alone = _storing(func, place, store, part)
            try:
                after = call.run(tvm.IRModule({e.function: alone}))[e.function]
            except Exception:  # of no concern here: the crash oracle looks at that
                continue
            with contextlib.suppress(Unsupported, Mismatch, Undefined):
                if _differ(e, alone, after):
                    became = f"{_text(part)} becomes {_text(_stored(after))}"
                    return Part(_kind(part), f"wrong by itself: {became}")
    return None


def _expressions(func: tirx.PrimFunc) -> Iterator[tuple[Any, Any, Any]]:
    """Conditions and values of stores: where they stand, and a store that has a place for them.

    Conditions come first: if one is wrong, so is what is stored under it.
    """
    for stmt in nodes(func, ir.IfThenElse):
        yield from ((stmt, store, stmt.condition) for store in nodes(stmt, ir.BufferStore)[:1])
    yield from ((store, store, store.value) for store in nodes(func, ir.BufferStore))


def _parts(expr: Any) -> list[Any]:
    """All parts of an expression that are computed, those of a part before it."""
    found: list[Any] = []
    leaves = (tirx.Var, tirx.IntImm, tirx.FloatImm)

    def visit(part: Any) -> None:
        if isinstance(part.ty, tvm.ir.PrimType) and not isinstance(part, leaves):
            found.append(part)

    tvm_ffi.structural_walk(expr, [(tvm.ir.Expr, visit)], order="post")
    return found


def _storing(func: tirx.PrimFunc, place: Any, store: Any, value: Any) -> tirx.PrimFunc:
    """The function that does nothing but store a value, at a place of its own."""
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
    """As TVMScript; of what it cannot print, no address is shown."""
    return re.sub(r"\(0x[0-9a-f]+\)", "", str(expr))


def _differ(e: Expectation, before: tirx.PrimFunc, after: tirx.PrimFunc) -> bool:
    results = []
    for func in (before, after):
        shape = tuple(_size(e, dim) for dim in func.params[-1].ty.shape)
        args = [*map(np.copy, e.args), np.zeros(shape, dtype_of(str(func.params[-1].ty.dtype)))]
        results.append(Evaluator(tvm.IRModule({e.function: func})).run(e.function, args))
    return difference(results[0], results[1], (), Tolerance()) is not None


def _size(e: Expectation, dim: Any) -> int:
    """A dimension of the function, which other parameters have, too."""
    if isinstance(dim, tirx.IntImm):
        return int(dim.value)
    for param, arg in zip(e.mod[e.function].params, e.args, strict=True):
        for own, size in zip(getattr(param.ty, "shape", ()), np.shape(arg), strict=True):
            if own.same_as(dim):
                return int(size)
    raise Unsupported(f"dimension {dim}")


def _kind(part: Any) -> str:
    """For example "index FloorMod": int32 and int64 are those of loops, which do not overflow."""
    name = getattr(getattr(part, "op", None), "name", None) or type(part).__name__
    dtype = str(getattr(part, "a", part).ty.dtype)
    group = {"int32": "index", "int64": "index", "int8": "narrow int", "int16": "narrow int"}
    return f"{group.get(dtype, dtype.rstrip('0123456789'))} {name}"
