"""The canonical form of modules."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax

from relaxfuzz.oracles.structural.canonical import equivalent


def module(private: str, size: int) -> tvm.IRModule:
    """A public function that calls a private one, which gives a constant of some columns."""
    constant = relax.const(np.zeros((2, size), "float32"))
    inner = relax.Function([], relax.SeqExpr([], constant), constant.ty, True)
    builder = relax.BlockBuilder()
    callee = builder.add_func(inner, private)
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(relax.Call(callee, [])))
    return builder.get()


def test_names_of_private_functions_make_no_difference() -> None:
    assert equivalent(module("f", 1), module("g", 1))
    assert not equivalent(module("f", 1), module("g", 2))


def test_a_module_that_tvm_does_not_load_has_a_canonical_form() -> None:
    """TVM saves, but does not load, a constant whose last dimension alone is empty."""
    assert equivalent(module("f", 0), module("g", 0))
    assert not equivalent(module("f", 0), module("g", 1))
