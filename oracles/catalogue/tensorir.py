"""TensorIR functions that contracts can spell: elementwise ones, of one static input."""

from __future__ import annotations

import tvm
from tvm import tirx

IMPORTS = ("from tvm import te",)

_ONE = "tvm.tirx.const(1, a.dtype)"

ELEMENTWISE = {
    "tir_add_one": f"a(*i) + {_ONE}",
    "tir_square": "a(*i) * a(*i)",
    "tir_two_steps": f"(a(*i) + {_ONE}) * (a(*i) + {_ONE})",
}
"""What the elementwise PrimFuncs of generated modules compute, by name."""


def spell(name: str, shape: str, dtype: str) -> str:
    """An expression for the PrimFunc of that name over tensors of that shape (itself a text)."""
    computed = f"te.compute(a.shape, lambda *i: {ELEMENTWISE[name]})"
    placeholder = f"te.placeholder({shape}, {dtype!r}, name='A')"
    return f"(lambda a: te.create_prim_func([a, {computed}]))({placeholder})"


def signature(func: tvm.tirx.PrimFunc) -> tuple[tuple[int, ...], str] | None:
    """Shape and dtype of the first parameter, None where it is no buffer of static shape."""
    if not func.params or not isinstance(func.params[0].ty, tirx.buffer.BufferType):
        return None
    shape = func.params[0].shape
    if not all(isinstance(dim, tirx.IntImm) for dim in shape):
        return None
    return tuple(int(dim) for dim in shape), str(func.params[0].dtype).removeprefix("T.")
