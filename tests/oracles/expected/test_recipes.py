"""Large arguments are made by expressions, and stand as such in reproducers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  # NumPy knows its dtypes then
import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import relax as R

from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.errors import TooLarge
from relaxfuzz.oracles.expected import recipes
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.snippets.value_reproducer import literal
from relaxfuzz.oracles.violation import Case

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).parents[1] / "values" / "value_faults.py"
faults = load_faults(FILE)

DTYPES = ("float32", "float16", "bfloat16", "int64", "int8", "uint16", "bool")


def function(shape: tuple[int, ...], dtype: str = "float32") -> tvm.IRModule:
    """A module that subtracts."""
    bb = relax.BlockBuilder()
    x, y = (relax.Var(name, R.Tensor(shape, dtype)) for name in "xy")
    with bb.function("main", [x, y]):
        with bb.dataflow():
            result = bb.emit_output(bb.emit(relax.op.subtract(x, y)))
        bb.emit_func_output(result)
    return bb.get()


def made(text: str) -> Any:
    return eval(text, {"np": np})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", list(InputKind))
def test_the_text_of_a_large_argument_gives_the_argument(kind: InputKind, dtype: str) -> None:
    func = relax.Function(
        [relax.Var("x", R.Tensor((2, 600), dtype)), relax.Var("y", R.Tensor((2, 6), dtype))],
        relax.Tuple([]),
        relax.TupleType([]),
    )
    large, small = drawn(func, kind, 3)
    again, _ = drawn(func, kind, 3)
    assert large.tobytes() == again.tobytes()
    text = literal([large.copy(), small])
    assert len(text) < 600
    one, other = made(text)
    assert (one.dtype, one.shape, one.tobytes()) == (large.dtype, large.shape, large.tobytes())
    np.testing.assert_array_equal(other.astype("float64"), small.astype("float64"))


def test_a_large_array_that_was_changed_has_no_text() -> None:
    large, _ = drawn(function((40, 40))["main"], InputKind.WHOLE)
    large[3, 3] += 1
    with pytest.raises(TooLarge):
        literal(large)
    np.testing.assert_array_equal(made(literal(np.full((40, 40), -np.inf))), -np.inf)


def test_arguments_that_are_too_large_are_not_made() -> None:
    side = 1 << 14
    assert side * side > recipes.MOST
    with pytest.raises(TooLarge):
        drawn(function((side, side))["main"], InputKind.WHOLE)


@pytest.mark.parametrize("oracle", ["evaluated", "executed"])
def test_reproducers_make_large_arguments(oracle: str) -> None:
    call = PassCall("swaps_operands()", factory=f"{FILE}:swaps_operands")
    case = Case(function((300, 1000)), (call,))
    (violation,) = check(case, oracles=[oracle])
    with pytest.raises(AssertionError):
        run_snippet(oracle, case, violation)
    texts = list(ORACLES[oracle].checks(case, violation, brief=True))
    assert texts
    assert all(len(text) < 5000 and "default_rng" in text for text in texts)
