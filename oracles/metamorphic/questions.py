"""Questions of laws: calls of a single operator, on numbers that show if a law holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from ...generators.ops import table
from ...generators.ops.laws import Law, RelatedCalls, elements
from ...generators.ops.record import Tolerance
from ..dtypes import dtype_of
from ..execute import Plan
from ..expected.comparison import difference, finite
from ..expected.expectation import copies
from ..inspect import calls_of, op_name, relax_functions, static
from ..single_call import MAIN, module_of

SHORT = 3
"""Size of each operand dimension other than 1, if the operator allows it."""

LARGE = 4096
"""Limit of the elements of an operand if the operator does not allow `SHORT` sizes."""

WITH_NAN = ", with NaN among them"
WITH_INFINITY = ", with infinities among them"
"""Suffixes of the keys of violations that such operands show."""


@dataclass(frozen=True, slots=True)
class Question:
    """A trial of a law, with the functions that make its calls."""

    op: str
    law: Law
    trial: RelatedCalls
    functions: tuple[str, ...]
    types: tuple[relax.Type, ...]
    """The types of their results."""

    @property
    def broken(self) -> str:
        """The broken law, as the predicate of a sentence about the operator."""
        if self.trial.nan:
            return self.law.broken + WITH_NAN
        return self.law.broken + ("" if finite(self._operands) else WITH_INFINITY)

    def plans(self) -> list[Plan]:
        """One plan for each call."""
        return list(map(_plan, self.functions, self._operands))

    @property
    def _operands(self) -> list[list[Any]]:
        return [[arg for arg in call if isinstance(arg, np.ndarray)] for call in self.trial.calls]

    def wrong(self, results: Sequence[Any]) -> str | None:
        """The difference that shows that the law is broken, or None."""
        if not all(map(_has_shape, self.types, results)):
            return None  # other oracles report that, and exceptions
        try:
            seen = views(self.trial, results)
        except IndexError as error:
            return f"an index outside of the operand: {error}"
        if self.trial.bounds is not None:
            return _beyond(seen[0], self.trial.bounds)
        others = (difference(seen[0], other, tolerance=Tolerance()) for other in seen[1:])
        return next(filter(None, others), None)

    def shown(self, results: Sequence[Any]) -> str:
        """Operands and results, for people."""
        pairs = zip(self._operands, results, strict=True)
        return "\n".join(
            f"{self.op}({', '.join(map(_short, args))}) = {_short(result)}"
            for args, result in pairs
        )


def _has_shape(ty: relax.Type, value: Any) -> bool:
    """True if structure and shapes are those of the type; dtypes may differ."""
    if isinstance(ty, relax.TupleType):
        fits = isinstance(value, tuple) and len(value) == len(ty.fields)
        return fits and all(map(_has_shape, ty.fields, value))
    if not isinstance(value, np.ndarray):
        return False
    if static(ty):
        return bool(value.shape == tuple(int(dim.value) for dim in ty.shape.values))
    return ty.ndim in (-1, value.ndim)


def _plan(function: str, args: list[Any]) -> Plan:
    return lambda run: run(function, copies(args))


def views(trial: RelatedCalls, results: Sequence[Any]) -> list[Any]:
    """The parts of the results that the law relates."""
    return [
        eval(view, {"np": np, "result": result, "args": args})
        for view, result, args in zip(trial.views, results, trial.calls, strict=True)
    ]


def _beyond(value: Any, bounds: tuple[float, float]) -> str | None:
    low, high = bounds
    exact = np.asarray(value).astype("float64")
    leeway = 0.0 if value.dtype.kind in "iub" else _leeway(value, bounds)
    if bool(((exact >= low - leeway) & (exact <= high + leeway)).all()):
        return None
    return f"values: expected numbers from {low:g} to {high:g} but got {_short(value)}"


def _leeway(value: Any, bounds: tuple[float, float]) -> float:
    finite = max((abs(bound) for bound in bounds if np.isfinite(bound)), default=0.0)
    tolerance: float = getattr(Tolerance(), str(value.dtype), Tolerance().float16)
    return tolerance * (1 + finite)


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))})"
    return np.array2string(np.asarray(value), threshold=12, precision=6).replace("\n", " ")[:200]


# Questions


@dataclass(frozen=True, slots=True)
class Subject:
    """One kind of call of an operator, and the questions that its laws ask."""

    op: str
    mod: tvm.IRModule
    """A function for each list of types of operands."""
    questions: tuple[Question, ...]


def subjects(mod: tvm.IRModule) -> Iterator[Subject]:
    """The kinds of calls in the module whose operators have laws."""
    seen: set[int] = set()
    for _, func in relax_functions(mod):
        for call in calls_of(func):
            name = op_name(call) or ""
            record = table.get(name.removeprefix("relax."))
            if record is None or not record.laws or not record.executes:
                continue
            small = _small(call)
            if small is None:
                continue
            kind = int(tvm_ffi.structural_hash(small, map_free_vars=True))
            if kind in seen:
                continue
            seen.add(kind)
            if subject := _subject(small, name, record.laws, f"f{len(seen)}"):
                yield subject


def _subject(call: relax.Call, op: str, laws: Sequence[Law], prefix: str) -> Subject | None:
    operands = [_operand(arg) for arg in call.args]
    functions: dict[str, relax.Function] = {}
    names: dict[tuple[Any, ...], str] = {}

    def name_of(args: Sequence[Any]) -> str:
        types = tuple((arg.shape, str(arg.dtype)) for arg in args if isinstance(arg, np.ndarray))
        if types not in names:
            name = names[types] = f"{prefix}_{len(names)}"
            functions[name] = _function(call, args).with_attr("global_symbol", name)
        return names[types]

    def question(law: Law, trial: RelatedCalls) -> Question:
        called = tuple(map(name_of, trial.calls))
        return Question(op, law, trial, called, tuple(functions[name].ret_ty for name in called))

    try:
        asked = tuple(
            question(law, trial) for law in laws for trial in law.trials(operands, call.attrs)
        )
    except TypeError:  # type inference refuses an operand of another rank
        return None
    return Subject(op, tvm.IRModule(functions), asked) if asked else None


def _operand(arg: relax.Expr) -> Any:
    ty = arg.ty
    if not isinstance(ty, relax.TensorType):
        return arg
    return elements([int(dim.value) for dim in ty.shape.values], dtype_of(str(ty.dtype)))


def _small(call: relax.Call) -> relax.Call | None:
    """The same call on short tensors that are parameters; None if a type is not fully known."""
    for longest in (SHORT, LARGE):
        args = [_parameter(arg, longest) for arg in call.args]
        if any(arg is None for arg in args):
            return None
        made = relax.Call(call.op, args, call.attrs, call.ty_args)
        try:
            made = relax.BlockBuilder().normalize(made)
        except Exception:  # e.g. a window is longer
            continue
        if all(map(_positive, (made, *args))):
            return made
    return None


def _parameter(arg: relax.Expr, longest: int) -> relax.Expr | None:
    ty = arg.ty
    if not isinstance(ty, relax.TensorType):
        return arg
    if ty.dtype is None or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    sizes = [_size(dim, longest) for dim in ty.shape.values]
    return relax.Var("x", relax.TensorType(sizes, str(ty.dtype)))


def _size(dim: tirx.Expr, longest: int) -> int:
    """The dimension's own size up to `longest`; short sizes are unified, so that calls agree."""
    size = int(dim.value) if isinstance(dim, tirx.IntImm) else SHORT
    return min(size, longest) if longest > SHORT or size < 2 else SHORT


def _positive(expr: relax.Expr) -> bool:
    """True if no tensor among its values is known to be empty or large."""
    if isinstance(expr.ty, relax.TupleType):
        shapes = [getattr(field, "shape", None) for field in expr.ty.fields]
    else:
        shapes = [getattr(expr.ty, "shape", None)]
    known = [shape.values for shape in shapes if isinstance(shape, relax.ShapeExpr)]
    sizes = [[int(d.value) for d in dims if isinstance(d, tirx.IntImm)] for dims in known]
    return all(min(dims, default=1) > 0 and np.prod(dims) <= LARGE for dims in sizes)


def _function(call: relax.Call, args: Sequence[Any]) -> relax.Function:
    """A function with the call, whose parameters take the arrays."""
    params: list[relax.Var] = []

    def operand(arg: Any) -> relax.Expr:
        if not isinstance(arg, np.ndarray):
            return arg
        ty = relax.TensorType(arg.shape, str(arg.dtype))
        params.append(relax.Var(f"x{len(params)}", ty))
        return params[-1]

    made = relax.Call(call.op, list(map(operand, args)), call.attrs, call.ty_args)
    return module_of(made, params)[MAIN]
