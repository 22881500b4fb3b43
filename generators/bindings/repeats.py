"""Near-copies of earlier calls, which a pass that merges equal calls must tell apart."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from ...compat import ir
from ...compat.ops import relax_op
from ..choices import Choices
from ..module_scope import ModuleScope
from ..ops import table
from ..ops.record import FLOATS, Op
from ..ops.variation import (
    TRIES,
    Variation,
    Variations,
    accepted,
    attributes,
    operands_of,
    schemas,
)
from ..scope import Scope
from ..values import Value, latest, value_of
from .kind import ARITHMETIC, Callees, Ops
from .values import operator

EXAMPLES = 16
"""The number of sample calls of an operator that supply strings for its attributes."""


def repeat(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """Repeat a pure call of the current block: unchanged, with one change, or on its own result.

    Some passes merge two consecutive calls of an operator if their attributes are equal.
    """
    candidates = [each for each in reversed(s.bound()) if _repeatable(each)]
    if not candidates:
        operator(c, s, ops, callees)
        return
    at, change, first, combined = c.below(256), c.pick(_CHANGES), c.below(256), c.flag()
    apt = [each for each in candidates if next(change(s, each), None) is not None] or candidates
    binding = apt[at % len(apt)]
    call = binding.value
    variations = list(change(s, binding))
    start = first % max(len(variations), 1)
    for variation in (variations[start:] + variations[:start])[:TRIES]:
        found = accepted(s, binding.value, variation)
        if found is not None:
            call = found[0]
            if tvm_ffi.structural_equal(call.ty, binding.var.ty):
                break  # calls of different types are not confused
    again = s.bind(call)
    # A tensor of negative size is not a value that others may take.
    one, other = value_of(binding.var), latest(s.values, again)
    if combined and one is not None and other is not None and _alike(one, other):
        s.emit(relax_op.subtract(one.expr, other.expr))


def _repeatable(binding: relax.Binding) -> bool:
    """True for pure calls of typed operands; inference does not check others, such as null."""
    op = _record(getattr(binding, "value", None))
    if op is None or not op.pure or attributes in op.deadly:
        return False
    return not any(isinstance(arg.ty, relax.AnyType) for arg in binding.value.args)


def _record(call: relax.Expr | None) -> Op | None:
    if not isinstance(call, relax.Call) or not isinstance(call.op, tvm.ir.Op):
        return None
    return table.get(str(call.op.name).removeprefix("relax."))


def _alike(one: Value, other: Value) -> bool:
    """True for tensors of numbers, all of one type."""
    if one.dtype not in ARITHMETIC:
        return False
    return bool(tvm_ffi.structural_equal(one.expr.ty, other.expr.ty))


Change = Callable[[Scope, relax.Binding], Iterator[Variation]]
"""Yields variations of the call that a variable is bound to."""


def _unchanged(s: Scope, binding: relax.Binding) -> Iterator[Variation]:
    yield from ()


def _varied(kind: Variations) -> Change:
    return lambda s, binding: kind(s, binding.value)


def other_operands(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Another value of the same type in place of an operand."""
    for at, arg in enumerate(call.args):
        for value in reversed(s.values):
            if not value.expr.same_as(arg) and tvm_ffi.structural_equal(value.expr.ty, arg.ty):
                yield Variation({(at,): value.expr})


def swapped_operands(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Two operands in each other's place."""
    for at in range(1, len(call.args)):
        yield Variation({(at - 1,): call.args[at], (at,): call.args[at - 1]})


def near_constants(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """A constant that is easily taken for the one in its place: with zeros of the other sign, which
    compare equal, or with another last element."""
    for place, arg in operands_of(call.args):
        if not isinstance(arg, ir.GenericConst) or not isinstance(arg.ty, relax.TensorType):
            continue
        data, dtype = ir.constant_data(arg).numpy(), str(arg.ty.dtype)
        if dtype in FLOATS and not data.all():
            yield Variation({place: relax.const(np.where(data == 0, -data, data), dtype)})
        if data.size > 1 and data.flat[0] != data.flat[-1]:
            other = data.copy()
            other.flat[-1] = data.flat[0]
            yield Variation({place: relax.const(other, dtype)})


def _on_its_result(s: Scope, binding: relax.Binding) -> Iterator[Variation]:
    """The result of the call in place of an operand."""
    for place, arg in operands_of(binding.value.args):
        if isinstance(arg.ty, relax.TensorType):
            yield Variation({place: binding.var})


def texts(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Another string for an attribute: a mode, a layout, a kind of reduction."""
    op = _record(call)
    if op is None or not _textual(call.attrs):
        return
    for name, known in _texts(op.name).items():
        for text in known:
            if text != getattr(call.attrs, name):
                yield Variation(attrs={name: text})


def _textual(attrs: Any) -> list[str]:
    """The names of attributes that are strings but not dtypes."""
    return [
        name
        for name, schema in ({} if attrs is None else schemas(attrs)).items()
        if schema["type"] != "DataType" and isinstance(getattr(attrs, name), str)
    ]


@cache
def _texts(op: str) -> Mapping[str, tuple[str, ...]]:
    """The strings that the operator's record chooses for attributes; others cannot be guessed."""
    found: dict[str, set[str]] = {}
    for number in range(EXAMPLES):
        scope = Scope(ModuleScope(frozenset()), (2, 3, 4), table[op].dtypes[:1] or ("float32",))
        scope.dataflow(True)
        call = table[op].build(Choices(random.Random(number).randbytes(64)), scope)
        attrs = getattr(call, "attrs", None)
        for name in _textual(attrs):
            found.setdefault(name, set()).add(str(getattr(attrs, name)))
    return {name: tuple(sorted(values)) for name, values in found.items() if len(values) > 1}


def _texts_or_attributes(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Another string; if no attribute is a string, another value of any type."""
    found = texts(s, call)
    first = next(found, None)
    return attributes(s, call) if first is None else itertools.chain((first,), found)


_CHANGES: tuple[Change, ...] = (
    _unchanged,
    _varied(attributes),
    _varied(other_operands),
    _varied(swapped_operands),
    _varied(_texts_or_attributes),
    _on_its_result,
    _varied(attributes),
    _varied(near_constants),
)
