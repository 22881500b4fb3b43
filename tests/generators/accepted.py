"""What type inference accepts of an operator, found by trying, and what its record makes."""

from __future__ import annotations

import functools
import inspect
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.generators.ops.variation import KINDS, Variations, accepted
from relaxfuzz.generators.scope import Scope
from relaxfuzz.generators.traits import Trait
from relaxfuzz.generators.values import Dim

TRAITS = frozenset(Trait)

DTYPES = ("float32", "float16", "float64", "bfloat16", "int32", "int64", "int8", "uint8", "bool")

Feature = tuple[Any, ...]
"""One thing about a call: ("rank", 0, 5) says that operand 0 has five axes."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A call as the record builds it, and the scope that it was built in."""

    scope: Scope
    call: relax.Call


def sample(op: Op, number: int) -> Sample:
    """The same call in every process."""
    rng = np.random.default_rng([zlib.crc32(op.name.encode()), number])
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    dims: list[Dim] = [(2, 3, 4)[number % 3], 3, 1, 0, n, m]
    dtypes = [op.dtypes[number % len(op.dtypes)], op.dtypes[-1]]
    scope = Scope(ModuleScope(TRAITS), dims, dtypes)
    scope.dataflow(op.pure)
    call = op.build(Choices(rng.bytes(48) if number else b""), scope)
    return Sample(scope, scope.module.builder.normalize(call))


# Features


def features(call: relax.Call) -> frozenset[Feature]:
    """What is worth telling apart about a call."""
    found: set[Feature] = {("operands", len(call.args))}
    for at, arg in enumerate(call.args):
        fields = arg.fields if isinstance(arg, relax.Tuple) else [arg]
        if isinstance(arg, relax.Tuple):
            found.add(("fields", at, min(len(fields), 3)))
        for each in fields:
            found.update(_of_operand(at, each))
    if call.attrs is not None:
        for field in type(call.attrs).__tvm_ffi_type_info__.fields:
            found.update(_of_attribute(field.name, getattr(call.attrs, field.name)))
    return frozenset(found)


def _of_operand(at: int, arg: relax.Expr) -> Iterator[Feature]:
    ty = arg.ty
    if isinstance(ty, relax.TensorType):
        yield "dtype", at, str(ty.dtype) if ty.dtype is not None else None
        yield "rank", at, ty.ndim
        if not isinstance(ty.shape, relax.ShapeExpr):
            yield "shape", at, "unknown"
        else:
            yield from (("dim", at, _kind_of_number(dim)) for dim in ty.shape.values)
    elif isinstance(arg, relax.ShapeExpr):
        yield from (("dim", at, _kind_of_number(dim)) for dim in arg.values)
    elif isinstance(ty, relax.ShapeType):
        yield "shape", at, "unknown"
    elif isinstance(ty, tvm.ir.PrimType):
        yield "number", at, _kind_of_number(getattr(arg, "value", arg))


def _kind_of_number(value: Any) -> str:
    if isinstance(value, tirx.IntImm | tirx.FloatImm):
        value = value.value
    if not isinstance(value, int | float):
        return "symbolic"
    return "negative" if value < 0 else "0" if value == 0 else "positive"


def _of_attribute(name: str, value: Any) -> Iterator[Feature]:
    if value is None or isinstance(value, bool):
        yield "attribute", name, value
    elif isinstance(value, int | float | tirx.IntImm | tirx.FloatImm):
        yield "attribute", name, _kind_of_number(value)
    elif isinstance(value, tvm_ffi.dtype):
        yield "attribute", name, str(value)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        numbers = [getattr(each, "value", each) for each in value]
        yield "length", name, min(len(numbers), 3)
        if len(set(numbers)) < len(numbers):
            yield "repeated", name
        for number in numbers:
            yield "attribute", name, _kind_of_number(number)


# What type inference accepts: calls of TVM's own functions


def public_calls(op: Op, base: Sample) -> Iterator[relax.Call]:
    """Calls of `relax.op`'s function that differ in one argument from the call at hand.

    What the function itself refuses is left out; type inference is not asked yet.
    """
    function = _function(op.name)
    given = None if function is None else _arguments(function, base)
    if function is None or given is None:
        return
    parameters = inspect.signature(function).parameters
    optional = [name for name in given if parameters[name].default is None]
    for change in (*_changes(base, given), *({name: None} for name in optional)):
        try:
            call = function(**{**given, **change})
        except Exception:  # of any type
            continue
        if isinstance(call, relax.Call) and all(arg is not None for arg in call.args):
            yield call


@functools.cache
def _function(name: str) -> Any:
    found: Any = relax.op
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if inspect.isfunction(found) else None


def _arguments(function: Any, base: Sample) -> dict[str, Any] | None:
    """The arguments that give this call: attributes by name, operands in order."""
    call = base.call
    operands = list(call.args)
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if call.attrs is not None and hasattr(call.attrs, name):
            given[name] = _plain(getattr(call.attrs, name))
        elif operands:
            given[name] = operands.pop(0)
        elif parameter.default is parameter.empty:
            return None
    try:
        again = base.scope.module.builder.normalize(function(**given))
    except Exception:
        return None
    return given if tvm_ffi.structural_equal(again, call) else None


def _plain(value: Any) -> Any:
    if isinstance(value, tvm_ffi.dtype):
        return str(value)
    if isinstance(value, tvm_ffi.Array):
        return [_plain(each) for each in value]
    return int(value.value) if isinstance(value, tirx.IntImm) else value


def _changes(base: Sample, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    tensors = {
        name: arg
        for name, arg in given.items()
        if isinstance(arg, relax.Expr) and isinstance(arg.ty, relax.TensorType)
    }
    symbolic = [dim for dim in base.scope.dims if not isinstance(dim, int)][:1]
    for dtype in DTYPES:
        yield {name: _var(arg.ty.shape, dtype) for name, arg in tensors.items() if arg.ty.shape}
        for name, arg in tensors.items():
            if arg.ty.shape is not None:
                yield {name: _var(arg.ty.shape, dtype)}
    for name, arg in tensors.items():
        dtype = str(arg.ty.dtype or "float32")
        for ndim in range(7):
            yield {name: _var([2] * ndim, dtype)}
        yield {name: _var(None, dtype, arg.ty.ndim)}
        yield {name: _var(None, dtype)}
        yield {name: _var(arg.ty.shape, "")}
        yield {name: _var(None, "")}
        if isinstance(arg.ty.shape, relax.ShapeExpr):
            yield from (
                {name: _var([dim, *arg.ty.shape.values[1:]], dtype)} for dim in (0, *symbolic)
            )
    for name, value in given.items():
        if name not in tensors:
            yield from ({name: other} for other in _others(name, value, symbolic))


def _var(shape: Any, dtype: str, ndim: int = -1) -> relax.Var:
    ty = relax.TensorType(dtype=dtype, ndim=ndim)
    return relax.Var("v", ty if shape is None else relax.TensorType(shape, dtype))


def _others(name: str, value: Any, symbolic: Sequence[Any]) -> Iterator[Any]:
    if "dtype" in name:
        yield from DTYPES
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from range(-5, 6)
    elif isinstance(value, float):
        yield from (0.0, -1.0, 2.0)
    elif isinstance(value, list):
        yield from ([], value[:-1], [*value, *value[-1:]], [0, 0], [-1, 0])
    elif isinstance(value, relax.ShapeExpr):
        yield from ([*value.values[:-1], dim] for dim in (0, 1, -1, *symbolic))
        yield relax.Var("s", relax.ShapeType(ndim=len(value.values)))
    elif isinstance(value, relax.Expr) and isinstance(value.ty, tvm.ir.PrimType):
        dtype = str(value.ty.dtype)
        some = (0, 1) if dtype == "bool" else (0, 2) if dtype.startswith("u") else (0, 2, -1)
        numbers = (tirx.const(each, dtype) for each in some)
        yield from (relax.prim_value(each) for each in (*numbers, *symbolic))


# What the record makes


def made(base: Sample, op: Op, without: Collection[Variations] = ()) -> set[Feature]:
    """The features of the call, and of all of its variations that type inference accepts.

    Args:
        base: the call.
        op: its operator.
        without: kinds of variations to leave out, besides those that kill the process.
    """
    known = set(features(base.call))
    for kind in KINDS:
        if kind not in (*op.deadly, *without):
            for variation in kind(base.scope, base.call):
                new = features(variation.apply(base.call)[0])
                if not known.issuperset(new) and accepted(base.scope, base.call, variation):
                    known |= new
    return known
