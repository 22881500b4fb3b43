"""Operators and kernels whose operands may be exchanged."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import Op

from relaxfuzz.generators.ops import table

NUMBERS = (
    (np.array([1.5, -2.0, 7.25]), np.array([-0.5, 3.0, 0.125])),
    (np.array([12, 5, 3]), np.array([7, 10, 2])),
    (np.array([True, False, True]), np.array([False, False, True])),
)


def commutes(call: relax.Call) -> bool:
    """True if the call is of an operator with two operands that may be exchanged."""
    if not isinstance(call.op, Op) or len(call.args) != 2 or call.attrs is not None:
        return False
    return _commutes(str(call.op.name).removeprefix("relax."))


@functools.cache
def _commutes(name: str) -> bool:
    """True if the reference commutes on ordinary numbers of the first kind that it accepts."""
    record = table.get(name)
    if record is None:
        return False
    for a, b in NUMBERS:
        try:
            both = record.reference([a, b], None), record.reference([b, a], None)
        except Exception:  # the operator is for another kind of numbers
            continue
        return _same(*both)
    return False


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
