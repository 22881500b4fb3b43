"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from . import laws, undefined
from .operands import in_single, nonempty_tensor, one_axis, quiet, some_axes
from .record import ALL, BRAIN, FLOATS, NUMBERS, Op

__all__ = ["OPS"]


def _axes(c: Choices, ndim: int) -> int | list[int] | None:
    if ndim == 0 or c.flag(0.3):
        return None
    if ndim < 0:  # unknown rank: axes that nearly all ranks have
        return c.pick((-1, 0))
    return some_axes(c, ndim, at_least=1) if c.flag(0.4) else one_axis(c, ndim)


def _axis(attrs: Any) -> tuple[int, ...] | None:
    return None if attrs.axis is None else tuple(int(axis) for axis in attrs.axis)


def _reduced(attrs: Any, rank: int) -> Sequence[int]:
    """The axes of a reduction of an operand of this rank."""
    axis = attrs.axis
    if axis is None:
        return range(rank)
    return [int(each) for each in (axis if hasattr(axis, "__len__") else [axis])]


def _found(attrs: Any, rank: int) -> str:
    """The element that the result points to."""
    if attrs.axis is None:
        return "np.take(args[0], result)"
    axis = int(attrs.axis)
    places = "result" if attrs.keepdims else f"np.expand_dims(result, {axis})"
    return f"np.take_along_axis(args[0], {places}, {axis})"


SYMMETRIC = laws.symmetric(_reduced)


def _reduce(
    name: str,
    reference: Callable[..., Any],
    dtypes: tuple[str, ...],
    *,
    of_nothing: bool = False,
    nonfinite: bool = False,
    rule: undefined.UndefinedRule | None = None,
    arithmetic: tuple[int, ...] = (),
    bounds: tuple[laws.Law, ...] = (),
) -> Op:
    """One reduction.

    Args:
        of_nothing: the reduction is also defined over zero elements.
        nonfinite: a NaN is never skipped, and infinities have the same sum in every order.
        rule: tells for which operands it is undefined.
        arithmetic: as in the record.
        bounds: its laws besides that of the order.
    """
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        if of_nothing:
            x = s.tensor(c, dtype=dtypes, complete=False)
        else:
            x = nonempty_tensor(c, s, dtypes)
        return call(x.expr, axis=_axes(c, x.ndim), keepdims=c.flag(0.3))

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        x = args[0]
        result = reference(x, axis=_axis(attrs), keepdims=bool(attrs.keepdims))
        return np.asarray(result).astype(x.dtype, copy=False)

    return Op(
        name=name,
        build=build,
        reference=quiet(in_single(evaluate)),
        dtypes=dtypes,
        nonfinite=nonfinite,
        undefined=rule,
        arithmetic=arithmetic,
        laws=(SYMMETRIC, *bounds),
    )


def _of_floats(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Reject integers: their average is undocumented, and TVM's code and type disagree on it."""

    def checked(x: Any, **options: Any) -> Any:
        if x.dtype.kind in "iub":
            raise TypeError(f"an average of {x.dtype}")
        return reference(x, **options)

    return checked


def _wrapping(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the operand's dtype in sums and products, so that integers wrap."""
    return lambda x, **options: reference(x, dtype=x.dtype, **options)


def _arg_reduce(name: str, reference: Callable[..., Any]) -> Op:
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = nonempty_tensor(c, s, NUMBERS)
        return call(x.expr, axis=None if c.flag(0.3) else one_axis(c, x.ndim), keepdims=c.flag(0.3))

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        axis = None if attrs.axis is None else int(attrs.axis)
        result = reference(args[0], axis=axis, keepdims=bool(attrs.keepdims))
        return np.asarray(result).astype("int64")

    return Op(
        name=name,
        build=build,
        reference=evaluate,
        dtypes=NUMBERS,
        laws=(laws.symmetric(_reduced, _found), laws.pointing(_reduced)),
    )


OPS = (
    _reduce(
        "sum",
        _wrapping(np.sum),
        (*ALL, *BRAIN),
        of_nothing=True,
        nonfinite=True,
        rule=undefined.sum_overflow,
        arithmetic=(0,),
    ),
    _reduce(
        "mean",
        _of_floats(np.mean),
        (*FLOATS, *BRAIN),
        nonfinite=True,
        rule=undefined.average,
        bounds=(laws.within(),),
    ),
    _reduce("max", np.max, (*NUMBERS, *BRAIN), bounds=(laws.within(ends=True),)),
    _reduce("min", np.min, (*NUMBERS, *BRAIN), bounds=(laws.within(ends=True),)),
    _reduce(
        "prod",
        _wrapping(np.prod),
        (*ALL, *BRAIN),
        of_nothing=True,
        rule=undefined.sum_overflow,
        arithmetic=(0,),
    ),
    _reduce(
        "variance",
        _of_floats(np.var),
        FLOATS,
        rule=undefined.average,
        bounds=(laws.spread(2),),
    ),
    _reduce("std", _of_floats(np.std), FLOATS, rule=undefined.average, bounds=(laws.spread(1),)),
    _arg_reduce("argmax", np.argmax),
    _arg_reduce("argmin", np.argmin),
)
