"""Stand-ins for classes of IR nodes that the installed TVM lacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.drift import Drift


def test_this_tvm_lacks_nothing() -> None:
    assert ir.MISSING == {}


@pytest.fixture(scope="module")
def nothing() -> Iterator[type]:
    yield ir.node("Nothing")
    del ir.MISSING["Nothing"]


def test_a_class_that_is_missing_has_no_instances(nothing: type) -> None:
    """It may be asked for, and walked for, like any other."""
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    found: list[object] = []
    tvm_ffi.structural_walk(x, ((nothing, relax.Var), found.append))
    assert found == [x]
    assert not isinstance(x, nothing)


def test_a_class_that_is_missing_is_named(nothing: type) -> None:
    for ask in (lambda: nothing(1), lambda: nothing.FIELD):  # type: ignore[attr-defined]
        with pytest.raises(Drift, match=r"^this TVM has no IR node Nothing$"):
            ask()
    assert ir.MISSING == {"Nothing": "this TVM has no IR node Nothing"}


def test_bitwise_operations_are_calls_or_nodes() -> None:
    n = tirx.Var("n", "int32")
    name, made = "shift_left", tirx.shift_left(n, n)
    assert isinstance(made, ir.BITWISE[name]) or made.op.name.endswith(name)
