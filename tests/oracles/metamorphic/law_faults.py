"""Passes that make code of a maximum and of an average, right and wrong."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, te, tirx

Pass = tvm.transform.Pass


def _legalizes(name: str, make: Any) -> Pass:
    def legalize(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        return builder.call_te(make, call.args[0])

    return relax.transform.LegalizeOps({name: legalize})


def _reduced(fold: Any, first: float) -> Any:
    def make(x: te.Tensor) -> te.Tensor:
        axis = te.reduce_axis((0, x.shape[0]), "k")
        reducer = te.comm_reducer(fold, lambda dtype: tirx.const(first, dtype))
        return te.compute((), lambda: reducer(x[axis], axis=axis))

    return make


def _is_nan(x: Any) -> Any:
    return tirx.isnan(x)


def keeps_nan() -> Pass:
    """A maximum that is NaN wherever NaN stands."""

    def fold(a: Any, b: Any) -> Any:
        return tirx.Select(_is_nan(a), a, tirx.Select(_is_nan(b), b, tirx.Max(a, b)))

    return _legalizes("relax.max", _reduced(fold, float("-inf")))


def loses_nan() -> Pass:
    """A maximum that passes NaN over wherever it stands."""

    def fold(a: Any, b: Any) -> Any:
        return tirx.Select(_is_nan(a), b, tirx.Select(_is_nan(b), a, tirx.Max(a, b)))

    return _legalizes("relax.max", _reduced(fold, float("-inf")))


def depends_on_places() -> Pass:
    """The maximum as TVM makes it, in which NaN wins at the end alone."""
    return _legalizes("relax.max", _reduced(lambda a, b: tirx.Max(a, b), float("-inf")))


def begins_with_zero() -> Pass:
    """A maximum of negative numbers is 0."""

    def fold(a: Any, b: Any) -> Any:
        return tirx.Select(_is_nan(a), a, tirx.Select(_is_nan(b), b, tirx.Max(a, b)))

    return _legalizes("relax.max", _reduced(fold, 0.0))


def does_not_lower() -> Pass:
    return relax.transform.LegalizeOps(skip_ops=["relax.max"])
