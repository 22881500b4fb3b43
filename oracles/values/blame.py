"""Finds where two computations of one result begin to differ, for keys of findings."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from ...compat import ir
from ...generators.ops import roles
from ...generators.ops.record import Tolerance
from ..dtypes import dtype_of
from ..errors import Mismatch, Undefined, Unsupported
from ..expected.comparison import difference, is_float, leaves
from ..expected.expectation import Expectation
from ..inspect import bindings_of, nodes, op_name, ops_used, static
from ..single_call import MAIN, module_of, with_operands

IN_PLACE = "a tensor that is updated in place"


def first_difference(
    before: Expectation, after: Expectation, tolerance: Tolerance | None = None
) -> str:
    """The first operator of the original module whose result differs.

    If no variable differs, it is the operator that computes the differing part of the result. If
    the result uses a tensor after an in-place update, it is `IN_PLACE`.

    Args:
        tolerance: see `first_variable`.
    """
    if after.misuses:
        return IN_PLACE
    path = _path(before.result, after.result, tolerance)
    among = _used(before.mod, before.function, path)
    found = first_variable(before, after, tolerance, among)
    return _computes(before.mod, before.function, path) if found is None else found


def first_variable(
    before: Expectation,
    after: Expectation,
    tolerance: Tolerance | None = None,
    among: Collection[str] | None = None,
) -> str | None:
    """The operator whose result is bound to the first variable that differs.

    Variables are compared by name; if the pass gives a name to several variables, with each of
    them. A value found under another name counts as renamed, unless the variable of that name
    already had it before.

    Args:
        tolerance: given for a pass that computes in another precision; intermediate floats may then
            have another dtype.
        among: names of the variables to compare; None: all.
    """
    old = {name: made[0] for name, made in _trace(before).items() if len(made) == 1}
    new = _trace(after)
    other = {
        name: made
        for name, made in new.items()
        if name not in old or not _found(old[name][1], made, tolerance)
    }
    for name in filter(old.__contains__, other):
        if among is not None and name not in among:
            continue
        kind, value = old[name]
        if not any(_found(value, made, tolerance) for made in other.values()):
            return kind
    return None


def mistyped(e: Expectation) -> str | None:
    """The first operator of the module whose result does not have the type that TVM infers."""
    values = _values(e)
    for binding in bindings_of(e.mod):
        called = binding.var in values and op_name(binding.value) is not None
        if called and not _is_of(binding.var.ty, values[binding.var]):
            return kind_of(binding.value)
    return None


def kind_of(value: Any) -> str:
    """The operator that a binding's value calls, or the kind of the value.

    Names of functions of the module are accidental, and left out.
    """
    op = op_name(value)
    if isinstance(value, relax.Call):
        callee = value.args[0] if op is not None and op.startswith("relax.call_tir") else value.op
        if isinstance(callee, relax.GlobalVar):
            return "a function"
    return op or type(value).__name__


def alone(
    call: relax.Call,
    values: Mapping[Any, Any],
    *,
    summed: bool = False,
    constants: bool = True,
) -> tuple[tvm.IRModule, list[Any]] | None:
    """A module of this one call and the arguments of its `main`; None if it cannot be built.

    Args:
        values: the values of variables among the operands, which become parameters.
        summed: make a function with a gradient: only floats become parameters, and the result is
            the sum of squares (the plain sum of a softmax would always be 1).
        constants: keep constants; otherwise they become parameters, too.
    """
    params: list[relax.Var] = []
    args: list[Any] = []

    def operand(expr: relax.Expr) -> relax.Expr:
        value = values.get(expr) if isinstance(expr, relax.Var) else None
        if not constants and isinstance(expr, ir.GenericConst):
            value = ir.constant_data(expr).numpy()
        if not isinstance(value, np.ndarray):
            return expr
        if summed and value.dtype.kind != "f":
            return relax.const(value, str(value.dtype))
        param = relax.Var(f"x{len(params)}", relax.TensorType(value.shape, str(value.dtype)))
        params.append(param)
        args.append(value)
        return param

    single = with_operands(call, operand)
    try:
        return (_summed if summed else module_of)(single, params), args
    except Exception:
        return None


def _summed(call: relax.Call, params: Sequence[relax.Var]) -> tvm.IRModule:
    """A module that computes the sum of the squares of a call's result."""
    builder = relax.BlockBuilder()
    with builder.function(MAIN, list(params)):
        with builder.dataflow():
            result = builder.emit(call)
            out = builder.emit_output(relax.op.sum(relax.op.multiply(result, result)))
        builder.emit_func_output(out)
    return builder.get()


def _trace(e: Expectation) -> dict[str, list[tuple[str, Any]]]:
    """Kinds and last values of variables, by name; only names whose variables all have values."""
    values = _values(e)
    kinds: dict[Any, str] = {}
    for binding in bindings_of(e.mod):
        value = binding.value
        kinds[binding.var] = kinds.get(value) or kind_of(value)  # an alias has the variable's kind
        if (out := _written(binding.value)) in kinds:
            kinds[out] = kinds[binding.var]
    named = Counter(str(var.name) for var in kinds)
    made: dict[str, list[tuple[str, Any]]] = {}
    for var, value in values.items():
        if var in kinds and all(hasattr(leaf, "dtype") for _, leaf in leaves(value)):
            made.setdefault(str(var.name), []).append((kinds[var], value))
    return {name: one for name, one in made.items() if len(one) == named[name]}


def _values(e: Expectation) -> dict[Any, Any]:
    """The last value of each variable, up to the end or the failure of the evaluation."""
    values: dict[Any, Any] = {}
    with contextlib.suppress(Unsupported, Mismatch, Undefined):
        e.evaluate(watch=values.__setitem__)
    return values


def _written(value: Any) -> Any:
    """The allocated tensor that a PrimFunc call writes to, by convention its last operand."""
    calls = isinstance(value, relax.Call) and isinstance(value.op, relax.GlobalVar)
    return value.args[-1] if calls and len(value.args) else None


def _is_of(ty: relax.Type, value: Any) -> bool:
    """True if the value has the type's dtype and shape; types that are not static always match."""
    if isinstance(ty, relax.TupleType) and isinstance(value, tuple | list):
        return len(ty.fields) == len(value) and all(map(_is_of, ty.fields, value))
    if not isinstance(ty, relax.TensorType) or not static(ty) or not hasattr(value, "dtype"):
        return True
    if value.dtype != dtype_of(str(ty.dtype)):
        return False
    return tuple(value.shape) == tuple(int(dim) for dim in ty.shape.values)


def _found(value: Any, made: list[tuple[str, Any]], tolerance: Tolerance | None) -> bool:
    """True if one of the values made equals this one, in any layout.

    If a tolerance is given, floats may have another dtype.
    """
    if tolerance is not None:
        made = [(kind, _as_precise(other, value)) for kind, other in made]
    return any(
        difference(*_in_one_layout(value, other), tolerance=tolerance) is None for _, other in made
    )


def _in_one_layout(value: Any, other: Any) -> tuple[Any, Any]:
    """The sorted elements of two images of equal size but different shapes; others unchanged.

    A tensor of fewer than three dimensions, e.g. a flattened one, has no layout.
    """
    if not all(isinstance(one, np.ndarray) and one.ndim > 2 for one in (value, other)):
        return value, other
    if value.shape == other.shape or value.size != other.size:
        return value, other
    return np.sort(value, axis=None), np.sort(other, axis=None)


def _as_precise(value: Any, like: Any) -> Any:
    """The value in the dtypes of `like`, if both are tensors of floats."""
    if isinstance(value, tuple | list):
        same = isinstance(like, tuple | list) and len(like) == len(value)
        return tuple(map(_as_precise, value, like)) if same else value
    if not all(hasattr(one, "dtype") and is_float(one) for one in (value, like)):
        return value
    with np.errstate(over="ignore"):
        return value.astype(like.dtype)


def _path(expected: Any, actual: Any, tolerance: Tolerance | None) -> tuple[int, ...]:
    """The path of the first part of a result that differs."""
    for (path, want), (other, got) in zip(leaves(expected), leaves(actual), strict=False):
        if path != other or difference(want, got, tolerance=tolerance) is not None:
            return path
    return ()


def _computes(mod: tvm.IRModule, function: str, path: tuple[int, ...]) -> str:
    if isinstance(mod[function], tirx.PrimFunc):
        return "a PrimFunc"
    bound = {binding.var: binding for binding in bindings_of(mod[function])}
    for expr in _followed(mod[function].body.body, path, bound):
        last = expr
    return "the parameters" if isinstance(last, relax.Var) else kind_of(last)


def _used(mod: tvm.IRModule, function: str, path: tuple[int, ...]) -> set[str] | None:
    """Names of the variables from which a part of a result is computed; None if a call writes to
    memory that others read.

    For called functions, all variables count.
    """
    if isinstance(mod[function], tirx.PrimFunc) or not ops_used(mod).isdisjoint(roles.IN_PLACE):
        return None
    bound = {binding.var: binding for binding in bindings_of(mod)}
    if any(_written(binding.value) in bound for binding in bound.values()):
        return None
    seen: dict[Any, None] = {}
    left = [*_followed(mod[function].body.body, path, bound)][-1:]
    while left:
        for node in nodes(left.pop(), relax.Var, relax.GlobalVar):
            if node in seen:
                continue
            seen[node] = None
            if isinstance(node, relax.GlobalVar):
                left.append(mod.functions.get(node))
            elif node in bound:
                left.append(bound[node].value)
    return {str(var.name) for var in seen if isinstance(var, relax.Var)}


def _followed(expr: Any, path: tuple[int, ...], bound: dict[Any, Any]) -> Iterator[Any]:
    """Yields the expressions that an expression stands for: through variables, tuples, fields."""
    while True:
        yield expr
        if isinstance(expr, relax.Var) and expr in bound:
            expr = bound[expr].value
        elif isinstance(expr, relax.Tuple) and path:
            expr, path = expr.fields[path[0]], path[1:]
        elif isinstance(expr, relax.TupleGetItem):
            expr, path = expr.tuple_value, (int(expr.index), *path)
        else:
            return
