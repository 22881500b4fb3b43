"""Rare calls that the records do not choose but type inference accepts.

A record chooses operands that its operator is meant for. `varied` rarely changes one thing about
this call: a dtype, a rank, a size, the known part of a type, an attribute, an operand left out, a
constant that becomes a parameter. Type inference alone decides if the changed call is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.ir import PrimType

from ...compat import ir
from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from ..values import Dim, dims_of, same_dim, uniform

__all__ = [
    "BYTES",
    "DTYPES",
    "KINDS",
    "OFTEN",
    "RARE",
    "Variation",
    "Variations",
    "accepted",
    "operands_of",
    "schemas",
    "varied",
]

RARE, OFTEN = 0.05, 0.4
"""The share of calls that are varied, without the trait for it and with it."""

BYTES = 4
"""Bytes for the decisions about one variation."""

TRIES = 4
"""Variations of one kind that are tried until type inference accepts one."""

DTYPES = (
    *("float32", "float16", "bfloat16", "float64"),
    *("int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64", "bool"),
)

Place = tuple[int, ...]
"""The place of an operand: its number, and its number inside a tuple."""


@dataclass(frozen=True, slots=True)
class Variation:
    """Replacements for operands and attributes of a call."""

    operands: Mapping[Place, Any] = field(default_factory=dict)
    """Expressions; types, which stand for new parameters; None for an operand left out.

    A `partial` makes one of these on demand, since only one of many variations is chosen.
    """

    attrs: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, call: relax.Call, first: int = 0) -> tuple[relax.Call, list[relax.Var]]:
        """The call after the change, and the variables that have to become parameters.

        Args:
            call: the call before it.
            first: the number of the first new parameter.
        """
        new: list[relax.Var] = []

        def operand(arg: relax.Expr, place: Place) -> relax.Expr | None:
            if place in self.operands:
                made = self.operands[place]
                if isinstance(made, partial):
                    made = made()
                if not isinstance(made, relax.Type):
                    return made
                new.append(relax.Var(f"x{first + len(new)}", made))
                return new[-1]
            if isinstance(arg, relax.Tuple):
                return relax.Tuple(operands(arg.fields, place))
            return arg

        def operands(args: Iterable[relax.Expr], place: Place = ()) -> list[relax.Expr]:
            found = (operand(arg, (*place, at)) for at, arg in enumerate(args))
            return [arg for arg in found if arg is not None]

        args = operands(call.args) if self.operands else call.args
        attrs = call.attrs
        if self.attrs:
            attrs = ir.with_fields(attrs, **self.attrs)
        return relax.Call(call.op, args, attrs, call.ty_args), new


Variations = Callable[[Scope, relax.Call], Iterator[Variation]]
"""A kind of variation: yields all variations of this kind of a call."""


def varied(
    c: Choices, s: Scope, call: relax.Expr, without: Collection[Variations] = ()
) -> relax.Expr:
    """The call, or one that differs from it in one thing: rarely, or often if the module has the
    trait for it.

    Args:
        c: `BYTES` bytes of decisions.
        s: receives the new parameters among the operands of the changed call.
        call: the call as a record builds it; other expressions stay unchanged.
        without: kinds of variations not to try.
    """
    if not c.flag(OFTEN if s.has(Trait.VARIED_CALLS) else RARE) or not isinstance(call, relax.Call):
        return call
    kinds = [kind for kind in KINDS if kind not in without and any(True for _ in kind(s, call))]
    if not kinds:
        return call
    variations = list(c.pick(kinds)(s, call))
    first = c.below(len(variations))
    for variation in (variations[first:] + variations[:first])[:TRIES]:
        found = accepted(s, call, variation)
        if found is not None:
            changed, new = found
            if s.adopt(new):
                return changed
    return call


def accepted(
    s: Scope, call: relax.Call, variation: Variation
) -> tuple[relax.Call, list[relax.Var]] | None:
    """The changed call, normalized, and its new variables; None if it is refused.

    Type inference assumes, as within a function, that symbolic extents are not negative.
    """
    builder = s.module.builder
    try:
        changed, new = variation.apply(call, len(s.params))
        if variation.attrs and not _writable(changed) and _writable(call):
            return None
        operands = (arg for _, arg in operands_of(changed.args))
        builder.begin_scope([arg for arg in operands if isinstance(arg, relax.Var)])
        try:
            return builder.normalize(changed), new
        finally:
            builder.end_scope()
    except Exception:  # a refusal may raise any type
        return None


def _writable(call: relax.Call) -> bool:
    """True if the operator's function in Python takes the operands and attributes."""
    if any(isinstance(arg, relax.Tuple) for arg in call.args):
        return False
    attrs = {name: getattr(call.attrs, name) for name in schemas(call.attrs)}
    functions: Any = relax_op
    try:
        function = reduce(getattr, call.op.name.split(".")[1:], functions)
        function(*call.args, **attrs)
    except Exception:  # there is no such function, or it refuses; a refusal may raise any type
        return False
    return True


# Kinds of variations


def operands_of(
    args: Iterable[relax.Expr], place: Place = ()
) -> Iterator[tuple[Place, relax.Expr]]:
    """The operands, including those in tuples."""
    for at, arg in enumerate(args):
        if isinstance(arg, relax.Tuple):
            yield from operands_of(arg.fields, (*place, at))
        else:
            yield (*place, at), arg


def _tensors(call: relax.Call) -> dict[Place, relax.TensorType]:
    return {
        place: arg.ty
        for place, arg in operands_of(call.args)
        if isinstance(arg.ty, relax.TensorType)
    }


def _together(call: relax.Call) -> list[dict[Place, relax.TensorType]]:
    """Groups of tensors that change at once: all of one dtype, each one alone, all of them."""
    tensors = _tensors(call)
    by_dtype: dict[str, dict[Place, relax.TensorType]] = {}
    for place, ty in tensors.items():
        by_dtype.setdefault(str(ty.dtype), {})[place] = ty
    groups = [*by_dtype.values(), *({place: ty} for place, ty in tensors.items()), tensors]
    return [group for at, group in enumerate(groups) if group and group not in groups[:at]]


def dtypes(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Operands of another dtype."""
    if not s.has(Trait.DTYPES):
        return
    for group in _together(call):
        for dtype in DTYPES:
            yield Variation({place: partial(_typed, ty, dtype) for place, ty in group.items()})


def _typed(ty: relax.TensorType, dtype: str) -> relax.TensorType:
    if not isinstance(ty.shape, relax.ShapeExpr):  # a parameter cannot use what a binding defines
        return relax.TensorType(dtype=dtype, ndim=ty.ndim)
    return relax.TensorType(ty.shape, dtype, ty.vdevice)


def ranks(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Operands of another rank, 0 to 6: the last or the first of their dims, and others."""
    fills = tuple(dict.fromkeys((1, 2, *s.dims)))
    for group in _together(call):
        for ndim in range(7):
            for fill in fills:
                for put in (_before, _behind):
                    yield Variation(
                        {place: partial(put, ty, ndim, fill) for place, ty in group.items()}
                    )


def _before(ty: relax.TensorType, ndim: int, fill: Dim) -> relax.TensorType:
    shape = _shape(ty)
    return _shaped(((fill,) * ndim + shape)[len(shape) :], ty)


def _behind(ty: relax.TensorType, ndim: int, fill: Dim) -> relax.TensorType:
    return _shaped((_shape(ty) + (fill,) * ndim)[:ndim], ty)


def _shape(ty: relax.TensorType) -> tuple[Dim, ...]:
    """The dims; empty if they are not known."""
    return dims_of(ty.shape) if isinstance(ty.shape, relax.ShapeExpr) else ()


def _shaped(shape: Sequence[Dim], ty: relax.TensorType) -> relax.TensorType:
    return relax.TensorType(relax.ShapeExpr(list(shape)), ty.dtype, ty.vdevice)


def unknown(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Operands of unknown shape, rank or dtype."""
    if not s.has(Trait.INCOMPLETE_TYPES):
        return
    for group in _together(call):
        for forget in _FORGET:
            yield Variation({place: partial(forget, ty) for place, ty in group.items()})
    for place, arg in operands_of(call.args):
        if isinstance(arg.ty, relax.ShapeType):
            yield Variation({place: relax.ShapeType(ndim=arg.ty.ndim)})
            yield Variation({place: relax.ShapeType(ndim=-1)})
        elif isinstance(arg.ty, PrimType):
            yield Variation({place: arg.ty})


_FORGET: tuple[Callable[[relax.TensorType], relax.TensorType], ...] = (
    lambda ty: relax.TensorType(dtype=ty.dtype or "", ndim=ty.ndim),
    lambda ty: relax.TensorType(dtype=ty.dtype or ""),
    lambda ty: _typed(ty, ""),
    lambda ty: relax.TensorType(dtype=""),
)


def values(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Parameters in place of constants: they may hold anything, zeros in a divisor too."""
    for place, arg in operands_of(call.args):
        if isinstance(arg, ir.GenericConst) and isinstance(arg.ty, relax.TensorType):
            yield Variation({place: arg.ty})


def constants(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Constants of one number in place of constants: zeros in a divisor, and scalars, which
    PrimFuncs contain as numbers.
    """
    for place, arg in operands_of(call.args):
        if isinstance(arg, ir.GenericConst) and isinstance(arg.ty, relax.TensorType):
            dtype = str(arg.ty.dtype)
            held = [v for v in _NUMBERS if dtype not in _WHOLE or _holds(dtype, v)]
            static = tuple(dim for dim in _shape(arg.ty) if isinstance(dim, int))
            for shape in dict.fromkeys((static, ())):
                yield from (Variation({place: partial(uniform, shape, v, dtype)}) for v in held)


_WHOLE = tuple(dtype for dtype in DTYPES if "float" not in dtype)


def sizes(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Another size (symbolic, 1, 0, ...) for a dim, wherever it occurs or in one operand."""
    shaped = {
        place: dims
        for place, arg in operands_of(call.args)
        if (dims := dims_of(arg) if isinstance(arg, relax.ShapeExpr) else _dims(arg.ty))
    }
    tensors = _tensors(call)
    known: list[Dim] = []
    for old in (dim for dims in shaped.values() for dim in dims):
        if not any(same_dim(old, dim) for dim in known):
            known.append(old)
    for old in known:
        for new in dict.fromkeys((1, *s.dims)):
            for places in (shaped, *({place: dims} for place, dims in shaped.items())):
                yield Variation(
                    {
                        place: partial(_resized, dims, tensors.get(place), old, new)
                        for place, dims in places.items()
                    }
                )


def _dims(ty: relax.Type) -> tuple[Dim, ...]:
    return _shape(ty) if isinstance(ty, relax.TensorType) else ()


def _resized(
    dims: Sequence[Dim], ty: relax.TensorType | None, old: Dim, new: Dim
) -> relax.Type | relax.Expr:
    shape = [new if same_dim(dim, old) else dim for dim in dims]
    return relax.ShapeExpr(shape) if ty is None else _shaped(shape, ty)


def numbers(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Other numbers, symbolic ones too, for operands that are numbers or shapes."""
    symbolic = [dim for dim in s.dims if not isinstance(dim, int)]
    for place, arg in operands_of(call.args):
        if isinstance(arg.ty, PrimType):
            dtype = str(arg.ty.dtype)
            numbers = (0, 1) if dtype == "bool" else _NUMBERS
            others: list[Any] = [
                tirx.const(v, dtype) for v in numbers if v >= 0 or not dtype.startswith("u")
            ]
            others += symbolic if dtype == "int64" else []
            yield from (Variation({place: relax.prim_value(other)}) for other in others)
        elif isinstance(arg, relax.ShapeExpr):
            shape = dims_of(arg)
            for at in range(len(shape)):
                for dim in (0, 1, -1, 2, *symbolic):
                    yield Variation({place: relax.ShapeExpr([*shape[:at], dim, *shape[at + 1 :]])})
            longer = [(dim, *shape) for dim in (0, 1, -1, 2, *symbolic)]
            for other in (shape[1:], *longer, (2, 1, *shape)):
                yield Variation({place: relax.ShapeExpr(list(other))})


_NUMBERS = (0, 1, -1, 2, 3, -2, 9, -9)


def absent(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """The last operand, or the last of a tuple, left out."""
    if len(call.args):
        yield Variation({(len(call.args) - 1,): None})
    for at, arg in enumerate(call.args):
        if isinstance(arg, relax.Tuple) and len(arg.fields):
            yield Variation({(at, len(arg.fields) - 1): None})


def attributes(s: Scope, call: relax.Call) -> Iterator[Variation]:
    """Another value for an attribute."""
    if call.attrs is None:
        return
    for name, schema in schemas(call.attrs).items():
        for value in _others(getattr(call.attrs, name), schema):
            yield Variation(attrs={name: value})


def schemas(attrs: Any) -> dict[str, Any]:
    """The types of the fields of attributes, as TVM describes them."""
    cls: Any = type(attrs)
    return _parsed(cls)


@cache
def _parsed(cls: Any) -> dict[str, Any]:
    fields = cls.__tvm_ffi_type_info__.fields
    return {field.name: json.loads(field.metadata["type_schema"]) for field in fields}


_INTEGERS = (0, 1, -1, 2, -2, 3, -3, 4, 5)
"""Axes of small ranks; sizes that divide and that do not; numbers out of range."""


def _others(value: Any, schema: Any) -> list[Any]:
    """Other values of an attribute's type; empty for types whose values cannot be guessed."""
    if schema["type"] == "Optional":
        (inner,) = schema["args"]
        if value is not None:
            return [None, *_others(value, inner)]
        return [*_examples(inner)]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [v for v in dict.fromkeys((*_INTEGERS, value + 1, value - 1)) if v != value]
    if isinstance(value, float):
        return [v for v in (0.0, 1.0, -1.0, 0.5) if v != value]
    if isinstance(value, tirx.IntImm):
        dtype = str(value.ty.dtype)
        return [tirx.IntImm(dtype, v) for v in _others(int(value.value), _INT) if _holds(dtype, v)]
    if isinstance(value, tirx.FloatImm):
        return [tirx.FloatImm(str(value.ty.dtype), v) for v in _others(float(value.value), _INT)]
    if schema["type"] == "DataType":
        return [dtype for dtype in DTYPES if dtype != str(value)]
    if not isinstance(value, str) and isinstance(value, Sequence):
        entries = list(value)
        found = [entries[::-1], *(entries[:size] for size in range(len(entries)))]
        for at, entry in enumerate(entries):
            others = _others(entry, _INT)
            found += [[*entries[:at], other, *entries[at + 1 :]] for other in others]
        return found + [[*entries, other] for other in (*entries[-1:], *_INTEGERS)]
    return []


def _holds(dtype: str, value: int) -> bool:
    """True if the integer dtype can hold the number."""
    if dtype == "bool":
        return value in (0, 1)
    bounds = np.iinfo(dtype)
    return bool(bounds.min <= value <= bounds.max)


_INT = {"type": "int"}


def _examples(schema: Any) -> list[Any]:
    """Values for an optional attribute that is absent."""
    if schema["type"] == "DataType":
        return list(DTYPES)
    if schema["type"] == "int":
        return list(_INTEGERS)
    if schema["type"] == "ffi.Array" and schema["args"] == [_INT]:
        return [[], *([v] for v in _INTEGERS), [0, 1], [1, 0], [0, 0], [-1, 0], [-1, -2, 0]]
    return []


KINDS: tuple[Variations, ...] = (
    dtypes,
    ranks,
    unknown,
    values,
    constants,
    sizes,
    numbers,
    attributes,
    absent,
)
"""All kinds of variations; `varied` picks a kind that applies, and one variation of it."""
