"""Values that a function accepts as arguments, found from its operators or from a refusal.

An operand that must be an index, a divisor or a distribution is mostly a parameter, perhaps
reshaped and cast. `demands` finds these parameters before numbers are drawn. `refused` finds the
source parameters of a refused value, and `narrowed` narrows their ranges.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, Op

from ...generators.ops import table
from ...generators.ops.accepts import Accepted, Place, TensorCondition
from ...generators.ops.record import Op as Record
from ...generators.ops.undefined import Behaviour
from ..errors import NoResult, Undefined
from ..inspect import bindings_of, nodes, relax_functions
from ..tensorir.indexing import indexing_params

Path: TypeAlias = tuple[int, ...]
"""A parameter by its position, or a field of a parameter that is a tuple."""

Ranges: TypeAlias = Mapping[Path, Accepted]

NO_RANGES: Ranges = MappingProxyType({})
"""Ranges for a function whose parameters may have any values."""


@dataclass(frozen=True, slots=True)
class Demand:
    """An operand that is a parameter and for which an operator accepts only some values."""

    call: Call
    record: Record
    place: Place

    def accepted(self, size: Callable[[Any], int | None]) -> list[Accepted]:
        """The accepted values, as at most one range.

        Args:
            size: gives the size of a dimension; None if it is not known.
        """
        shapes = [_shape_of(arg.ty, size) for arg in self.call.args]
        found = self.record.accepted(shapes, self.call.attrs).get(self.place)
        return [] if found is None else [found]


def _shape_of(ty: Any, size: Callable[[Any], int | None]) -> Any:
    """The shape in the form that an operator's rule takes; see `Shape`."""
    if isinstance(ty, relax.TupleType):
        return [_shape_of(field, size) for field in ty.fields]
    shape = getattr(ty, "shape", None)
    return tuple(map(size, shape.values)) if isinstance(shape, relax.ShapeExpr) else None


@functools.lru_cache(maxsize=4)
def demands(func: relax.Function | tirx.PrimFunc) -> Mapping[Path, Sequence[Demand]]:
    """The demands on operands whose elements are those of a parameter, by parameter.

    Calls in branches and local functions are left out, since they may never run. The cache is
    small, as arguments of all kinds are drawn function by function.
    """
    found: dict[Path, list[Demand]] = {}
    if not isinstance(func, relax.Function) or not isinstance(func.body, relax.SeqExpr):
        return found
    calls = [(call, record) for call in _calls(func.body) if (record := _demanding(call))]
    origins = Origins(func) if calls else None
    for call, record in calls:
        assert origins is not None
        for place, operand in _operands(call):
            for path in origins.of(operand, direct=True):
                found.setdefault(path, []).append(Demand(call, record, place))
    return found


def _calls(body: relax.SeqExpr) -> Iterator[Call]:
    bound = (binding.value for block in body.blocks for binding in block.bindings)
    return (value for value in bound if isinstance(value, Call) and isinstance(value.op, Op))


def _demanding(call: Call) -> Record | None:
    """The record of the operator if it does not accept all values, else None."""
    record = _record(call)
    return None if record is None or record.accepts_all else record


def _record(call: Call) -> Record | None:
    return table.get(str(call.op.name).removeprefix("relax."))


def _operands(call: Call) -> Iterator[tuple[Place, Any]]:
    """Yields the operands of a call; for tuples, their fields."""
    for number, arg in enumerate(call.args):
        if isinstance(arg.ty, relax.TupleType):
            fields = range(len(arg.ty.fields))
            yield from (((number, i), relax.TupleGetItem(arg, i)) for i in fields)
        else:
            yield (number,), arg


class Origins:
    """Traces intermediate values of a function back to its parameters.

    Args:
        func: the function that is called from outside.
        mod: the module with the functions that it calls; None: calls are not followed.
        calls: the calls that are being evaluated, which give the arguments of enclosing functions.
    """

    def __init__(
        self,
        func: relax.Function,
        mod: tvm.IRModule | None = None,
        calls: Sequence[Any] = (),
    ) -> None:
        self._mod = mod
        self._params = {hash(param): place for place, param in enumerate(func.params)}
        every = [func] if mod is None else [each for _, each in relax_functions(mod)]
        self._bound = {
            hash(binding.var): binding.value for each in every for binding in bindings_of(each)
        }
        self._given: dict[int, list[Any]] = {}
        """The arguments of called functions, by their parameters."""
        for call in calls:
            if isinstance(call, Call):
                self._enter(call)

    def of(self, expr: Any, *, direct: bool = False) -> dict[Path, bool]:
        """The source parameters of a value; True for those whose elements reach it unchanged.

        Args:
            direct: only those; on a large function this takes a hundredth of the time.
        """
        alone = direct
        found: dict[Path, bool] = {}
        seen: set[Any] = set()
        left: list[tuple[Any, Path, bool]] = [(expr, (), True)]
        while left:  # a chain of bindings is as long as the function
            expr, fields, direct = left.pop()
            key = hash(expr), fields, direct
            if key in seen:
                continue
            seen.add(key)
            place = self._params.get(hash(expr))
            if place is not None:
                found[place, *fields] = found.get((place, *fields), False) or direct
                continue
            sources = [*self._sources(expr, fields)]
            left += [
                (each, of_it, direct and moved)
                for each, of_it, moved in reversed(sources)
                if moved or not alone
            ]
        return found

    def _sources(self, expr: Any, fields: Path) -> Iterator[tuple[Any, Path, bool]]:
        """Yields the expressions that a value consists of, the fields of each, and whether its
        elements are those of the value."""
        if isinstance(expr, Call):
            yield from self._operands_of(expr, fields)
        elif isinstance(expr, relax.TupleGetItem):
            yield expr.tuple_value, (int(expr.index), *fields), True
        elif isinstance(expr, relax.Tuple):
            chosen = [expr.fields[fields[0]]] if fields else expr.fields
            yield from ((each, fields[1:], True) for each in chosen)
        elif isinstance(expr, relax.SeqExpr):
            yield expr.body, fields, True
        elif isinstance(expr, relax.If):
            yield expr.true_branch, fields, True
            yield expr.false_branch, fields, True
        elif hash(expr) in self._bound:
            yield self._bound[hash(expr)], fields, True
        elif hash(expr) in self._given:
            yield from ((each, fields, True) for each in self._given[hash(expr)])
        elif not isinstance(expr, tirx.Var | relax.Function):
            yield from ((var, (), False) for var in nodes(expr, tirx.Var))

    def _operands_of(self, call: Call, fields: Path) -> Iterator[tuple[Any, Path, bool]]:
        if not isinstance(call.op, Op):
            callee = self._enter(call)
            if callee is not None:
                yield callee.body, fields, True
            return
        record = _record(call)
        moved = () if record is None else record.moves
        for place in moved or range(len(call.args)):
            yield call.args[place], (), bool(moved)

    def _enter(self, call: Call) -> relax.Function | None:
        """The called function, whose arguments are recorded; None if it is not known."""
        callee: Any = call.op
        if isinstance(callee, GlobalVar):
            callee = None if self._mod is None else self._mod.functions.get(callee)
        while hash(callee) in self._bound:
            callee = self._bound[hash(callee)]
        if not isinstance(callee, relax.Function):
            return None
        for param, arg in zip(callee.params, call.args, strict=False):
            given = self._given.setdefault(hash(param), [])
            if not any(arg.same_as(other) for other in given):
                given.append(arg)
        return callee


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal of the evaluator because of the arguments."""

    paths: Mapping[Path, tuple[Accepted, bool]]
    """The accepted values by parameter; True if they apply to the parameter's own elements."""
    reason: str
    """The reason, e.g. "7 is outside of 0 to 4, operand 1 of relax.take"."""


def refused(mod: tvm.IRModule, name: str, error: NoResult) -> Refused | None:
    """The refusal, with the source parameters of the refused value; None if not known."""
    calls = [call for call in error.calls if isinstance(call, Call)]
    func = mod[name]
    if isinstance(func, tirx.PrimFunc):
        wrong = _wrong(_of_prim_func(func, error), error.operands, always=True)
        found = {place: (accepted, False) for place, (accepted, _) in wrong.items()}
        return Refused(found, _reason(wrong, name, error)) if wrong else None
    if not calls or not isinstance(calls[0].op, Op):
        return None
    call = calls[0]
    always = _record(call) is None
    wrong = _wrong(_expected(mod, call, error), error.operands, always=always)
    if not wrong:
        return None
    origins = Origins(func, mod, calls)
    paths: dict[Path, tuple[Accepted, bool]] = {}
    for place, (accepted, _) in wrong.items():
        operand = _operand(call, place)
        sources = {} if operand is None else origins.of(operand)
        themselves = [path for path, direct in sources.items() if direct]
        for path in themselves or sources:
            paths[path] = accepted, bool(themselves)
    return Refused(paths, _reason(wrong, str(call.op.name), error))


def _expected(mod: tvm.IRModule, call: Call, error: NoResult) -> Mapping[Place, Accepted]:
    """The values that the operands of a call must have."""
    record = _record(call)
    if record is not None:
        return record.accepted([_shape(operand) for operand in error.operands], call.attrs)
    callee = mod.functions.get(call.args[0]) if isinstance(call.args[0], GlobalVar) else None
    return _of_prim_func(callee, error) if isinstance(callee, tirx.PrimFunc) else {}


def _of_prim_func(func: tirx.PrimFunc, error: NoResult) -> Mapping[Place, Accepted]:
    whole = [i for i, each in enumerate(error.operands) if _is_whole(each)]
    if isinstance(error, Undefined) and error.size is not None:
        accepted = Accepted(0, error.size - 1)
        return {(place,): accepted for place in indexing_params(func)}
    if str(error).startswith(Behaviour.DIVISION):
        return {(place,): Accepted(form=TensorCondition.NONZERO) for place in whole}
    return {}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, np.ndarray) and value.dtype.kind in "iu")


def _operand(call: Call, place: Place) -> Any:
    """The expression for the operand at a place; None for an output of a PrimFunc."""
    if _record(call) is None:  # a call of a PrimFunc, whose operands are in a tuple
        inputs = call.args[1]
        given = place[0] < len(inputs.ty.fields)
        return relax.TupleGetItem(inputs, place[0]) if given else None
    operand = call.args[place[0]]
    return relax.TupleGetItem(operand, place[1]) if len(place) > 1 else operand


def _shape(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape
    return [_shape(field) for field in value] if isinstance(value, tuple | list) else None


def _wrong(
    expected: Mapping[Place, Accepted], operands: Sequence[Any], *, always: bool
) -> dict[Place, tuple[Accepted, Any]]:
    """The operands with unexpected values, each with a wrong element.

    Args:
        always: if no operand is wrong, give all: a value computed from them is wrong then.
    """
    found = {}
    for place, accepted in expected.items():
        value: Any = operands
        for number in place:
            value = value[number] if number < len(value) else None
        bad = None if value is None else _bad(np.asarray(value), accepted)
        if bad is not None:
            found[place] = accepted, bad
    if not found and always:
        return {place: (accepted, None) for place, accepted in expected.items()}
    return found


def _bad(array: Any, accepted: Accepted) -> Any:
    """A wrong element, or the violated condition on all elements; None if all are as expected."""
    if not array.size or array.dtype == object:
        return None
    outside = array[(array < accepted.low) | (array > accepted.high)]
    if outside.size:
        return outside.flat[0]
    match accepted.form:
        case TensorCondition.NONZERO:
            return None if array.all() else 0
        case TensorCondition.ANY:
            return None
    return accepted.form


def _reason(wrong: Mapping[Place, tuple[Accepted, Any]], of: str, error: NoResult) -> str:
    (number, *_), (accepted, bad) = next(iter(wrong.items()))
    if bad is None:
        return f"{error}, computed from operand {number} of {of}"
    where = f"operand {number} of {of}"
    if isinstance(bad, TensorCondition):
        return f"{bad} expected, {where}"
    if accepted.form is TensorCondition.NONZERO:
        return f"0 as {where}"
    return f"{bad} is outside of {accepted.low} to {accepted.high}, {where}"


def narrowed(ranges: Ranges, refusal: Refused, whole: Sequence[Path]) -> Ranges | None:
    """Smaller ranges that make the refused value less likely; None if none can be narrowed.

    Args:
        whole: the parameters that are integers.
    """
    new = dict(ranges)
    paths = refusal.paths
    if not any(themselves for _, themselves in paths.values()) and paths.keys() & set(whole):
        paths = {path: each for path, each in paths.items() if path in whole}
    for path, (accepted, themselves) in paths.items():
        now = ranges.get(path)
        if now is None:
            new[path] = accepted
        elif (both := now.and_(accepted)) != now and themselves:
            new[path] = both
        elif now.is_index and now.low < now.high:
            new[path] = Accepted(now.low, now.low + (now.high - now.low) // 2, now.form, now.axis)
    return None if new == dict(ranges) else new


def described(params: Sequence[relax.Var], name: str, refusal: Refused) -> str:
    """ "`ids` of main: 7 is outside of 0 to 4, operand 1 of relax.take".

    Args:
        params: the parameters of the function.
    """
    places = dict.fromkeys(place for place, *_ in refusal.paths)
    listed = ", ".join(f"`{params[place].name}`" for place in places)
    return f"{listed} of {name}: {refusal.reason}" if listed else refusal.reason
