"""Mutations of values that Relax functions compute; all types stay unchanged."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

from relaxfuzz.compat import ir
from relaxfuzz.generators.bindings.pieces import edits
from relaxfuzz.generators.rewrite.change import Change
from relaxfuzz.generators.rewrite.nodes import equal_types

from .commuting import commutes
from .live import live_relax, live_sites
from .mutation import Changes, Mutant, Mutation

Forms = Callable[[Any], Iterator[Any]]
"""Yields replacements of an expression."""


def of_values(forms: Forms) -> Callable[[tvm.IRModule], Iterator[Mutant]]:
    """Mutants in which one binding has another value of the same type."""

    def mutants(mod: tvm.IRModule) -> Iterator[Mutant]:
        for name, func in live_relax(mod):
            for site in live_sites(func):
                if isinstance(site.binding, relax.VarBinding):
                    for new in forms(site.binding.value):
                        yield functools.partial(with_value, mod, name, site.binding, new)

    return mutants


def with_value(mod: tvm.IRModule, name: str, binding: Any, new: Any) -> tvm.IRModule | None:
    """The module with another value of a binding; None if its type differs."""
    made = relax.BlockBuilder().normalize(new) if isinstance(new, relax.Call) else new
    if not equal_types(made.ty, binding.value.ty):
        return None
    return Change(values={hash(binding.var): new}, functions={name}).apply(mod)


def with_args(call: relax.Call, args: Sequence[Any]) -> relax.Call:
    """The call with other operands."""
    return relax.Call(call.op, list(args), call.attrs, call.ty_args)


def _pairs(items: Sequence[Any]) -> Iterator[list[Any]]:
    """The items, with two different ones of the same type exchanged."""
    for i, a in enumerate(items):
        for j in range(i + 1, len(items)):
            b = items[j]
            if not a.same_as(b) and equal_types(a.ty, b.ty):
                yield [*items[:i], b, *items[i + 1 : j], a, *items[j + 1 :]]


def _is_call(value: Any) -> bool:
    return isinstance(value, relax.Call)


def swapped_operands(value: Any) -> Iterator[Any]:
    """Exchange two operands of one type, or two fields of an operand that is a tuple."""
    if not _is_call(value) or commutes(value):
        return
    for args in _pairs(list(value.args)):
        yield with_args(value, args)
    for place, arg in enumerate(value.args):
        if isinstance(arg, relax.Tuple):
            for fields in _pairs(list(arg.fields)):
                yield _with_arg(value, place, relax.Tuple(fields))


def _with_arg(call: relax.Call, place: int, new: Any) -> relax.Call:
    args = list(call.args)
    args[place] = new
    return with_args(call, args)


def other_operator(value: Any) -> Iterator[Any]:
    """Another operator with the same kind of attributes and as many operands."""
    if not _is_call(value) or not isinstance(value.op, Op):
        return
    if len(value.args) == 2 and value.args[0].same_as(value.args[1]):
        return  # if both operands are one value, its maximum is its minimum
    own = str(value.op.name).removeprefix("relax.")
    for names in edits._groups().values():
        for name in names if own in names else ():
            if name != own:
                yield relax.Call(Op.get(f"relax.{name}"), value.args, value.attrs, value.ty_args)


def other_attribute(value: Any) -> Iterator[Any]:
    """One attribute of an operator with another value."""
    if not _is_call(value) or value.attrs is None or not isinstance(value.op, Op):
        return
    for name in fields_of(value.attrs):
        for new in _others(getattr(value.attrs, name)):
            with contextlib.suppress(TypeError, ValueError):
                attrs = ir.with_fields(value.attrs, **{name: new})
                yield relax.Call(value.op, value.args, attrs, value.ty_args)


def fields_of(node: Any) -> list[str]:
    """The names of the fields of a node's class."""
    return [str(field.name) for field in type(node).__tvm_ffi_type_info__.fields]


def _others(value: Any) -> Iterator[Any]:
    """Values near an attribute's."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case float():
            yield from (value + 1.0, -value)
        case tvm_ffi.Array() if value:
            items = list(value)
            if len(items) > 1:
                yield items[::-1]
            for place, item in enumerate(items):
                for new in _others(item):
                    yield [*items[:place], new, *items[place + 1 :]]
        case tirx.IntImm():
            yield from (tirx.IntImm(value.ty, int(value.value) + step) for step in (1, -1))
        case tirx.FloatImm():
            yield tirx.FloatImm(value.ty, float(value.value) + 1.0)


def off_by_one(value: Any) -> Iterator[Any]:
    """Increase or decrease a number among the operands, such as a slice bound or a size."""
    if not _is_call(value):
        return
    for place, arg in enumerate(value.args):
        for new in _numbers(arg):
            yield _with_arg(value, place, new)


def _numbers(arg: Any) -> Iterator[Any]:
    match arg:
        case tirx.IntImm() | tirx.FloatImm():
            yield from _others(arg)
        case relax.ShapeExpr():
            for new in _others(arg.values):
                with contextlib.suppress(TypeError, ValueError):
                    yield relax.ShapeExpr(new)
        case relax.Tuple():
            for place, field in enumerate(arg.fields):
                for new in _numbers(field):
                    yield relax.Tuple([*arg.fields[:place], new, *arg.fields[place + 1 :]])


def other_constant(value: Any) -> Iterator[Any]:
    """One element of a constant with another value."""
    if isinstance(value, ir.GenericConst) and isinstance(value.ty, relax.TensorType):
        yield from _other_elements(value)
    if not _is_call(value):
        return
    for place, arg in enumerate(value.args):
        if isinstance(arg, ir.GenericConst) and isinstance(arg.ty, relax.TensorType):
            for new in _other_elements(arg):
                yield _with_arg(value, place, new)


def _other_elements(const: Any) -> Iterator[Any]:
    data = ir.constant_data(const).numpy()
    for place in {0, data.size // 2, data.size - 1} if data.size else ():
        new = data.copy()
        old = new.reshape(-1)[place]
        with np.errstate(all="ignore"):
            new.reshape(-1)[place] = ~old if data.dtype == np.bool_ else old + old.dtype.type(1)
        yield relax.const(new, str(const.ty.dtype))


def no_guard(value: Any) -> Iterator[Any]:
    """Always take the same branch of an If, or the same side of a `where`."""
    if isinstance(value, relax.If):
        for side in (True, False):
            cond = relax.const(side, "bool")
            made = relax.If(cond, value.true_branch, value.false_branch)
            relax.expr._update_type(made, value.ty)
            yield made
    if _is_call(value) and value.op == Op.get("relax.where"):
        yield from (value.args[1], value.args[2])


def dropped(value: Any) -> Iterator[Any]:
    """An operand instead of the value computed from it."""
    if _is_call(value) and isinstance(value.op, Op):
        yield from (arg for arg in value.args if isinstance(arg, relax.Var))


def other_field(value: Any) -> Iterator[Any]:
    """Another field of a tuple."""
    if isinstance(value, relax.TupleGetItem):
        fields = value.tuple_value.ty.fields
        for index in range(len(fields)):
            if index != value.index:
                yield relax.TupleGetItem(value.tuple_value, index)


def swapped_fields(value: Any) -> Iterator[Any]:
    """Exchange two fields of a tuple."""
    if isinstance(value, relax.Tuple):
        yield from map(relax.Tuple, _pairs(list(value.fields)))


_VALUE = Changes.VALUE
MUTATIONS = (
    Mutation("operands swapped", _VALUE, of_values(swapped_operands)),
    Mutation("operator replaced", _VALUE, of_values(other_operator)),
    Mutation("operator dropped", _VALUE, of_values(dropped)),
    Mutation("attribute changed", _VALUE, of_values(other_attribute)),
    Mutation("number off by one", _VALUE, of_values(off_by_one)),
    Mutation("constant changed", _VALUE, of_values(other_constant)),
    Mutation("branch lost", _VALUE, of_values(no_guard)),
    Mutation("other field", _VALUE, of_values(other_field)),
    Mutation("fields swapped", _VALUE, of_values(swapped_fields)),
)
