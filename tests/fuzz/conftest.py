"""Faulty passes, and a module for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.passcall import PassCall

PASSES = Path(__file__).with_name("passes.py")


@pytest.fixture(scope="session")
def faulty() -> Callable[[str], PassCall]:
    """The call of a pass of `passes.py`."""
    return lambda name: PassCall(f"{name}()", factory=f"{PASSES}:{name}")


@pytest.fixture(scope="session")
def sums() -> str:
    """TVM JSON of a module with `R.add`, which the faulty passes do not survive."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return str(tvm.ir.save_json(builder.get()))
