"""TensorIR functions that contracts can write out: elementwise, on inputs of one static shape."""

from __future__ import annotations

import tvm
from tvm import tirx

IMPORTS = ("from tvm import te",)

_ONE = "tvm.tirx.const(1, a.dtype)"

ELEMENTWISE = {
    "tir_add_one": f"a(*i) + {_ONE}",
    "tir_square": "a(*i) * a(*i)",
    "tir_two_steps": f"(a(*i) + {_ONE}) * (a(*i) + {_ONE})",
    "tir_sum": "a(*i) + b(*i)",
    "tir_to_float": "a(*i).astype('float32')",
}
"""The computations of the elementwise PrimFuncs of generated modules, by name."""


def inputs(name: str) -> int:
    """The number of inputs of the PrimFunc of that name."""
    return 2 if "b(" in ELEMENTWISE[name] else 1


def spell(name: str, shape: str, dtype: str) -> str:
    """An expression for the PrimFunc of that name over tensors of that shape, given as text."""
    names = "ab"[: inputs(name)]
    computed = f"te.compute(a.shape, lambda *i: {ELEMENTWISE[name]})"
    given = ", ".join(
        f"te.placeholder({shape}, {dtype!r}, name={each.upper()!r})" for each in names
    )
    taken = ", ".join(names)
    return f"(lambda {taken}: te.create_prim_func([{taken}, {computed}]))({given})"


def signature(func: tvm.tirx.PrimFunc) -> tuple[tuple[int, ...], str] | None:
    """Shape and dtype of the first parameter; None if it is not a buffer of static shape."""
    if not func.params or not isinstance(func.params[0].ty, tirx.buffer.BufferType):
        return None
    shape = func.params[0].shape
    if not all(isinstance(dim, tirx.IntImm) for dim in shape):
        return None
    return tuple(int(dim) for dim in shape), str(func.params[0].dtype).removeprefix("T.")
