"""Which exceptions say that the installed TVM lacks something, and which are bugs."""

from __future__ import annotations

import types
from collections.abc import Callable

import pytest
import tvm
from tvm import relax

from relaxfuzz.compat import drift
from relaxfuzz.compat.drift import drift_of
from relaxfuzz.oracles.oracle import Oracle

X = relax.Var("x", relax.TensorType((2, 3), "float32"))


def takes_nothing() -> None:
    pass


def raised(ask: Callable[[], object]) -> BaseException:
    """What it raises, in the name of relaxfuzz."""
    variables = {**globals(), "__name__": f"{drift.PACKAGE}.asker"}
    with pytest.raises((AttributeError, ImportError, TypeError)) as caught:
        types.FunctionType(ask.__code__, variables)()
    return caught.value


def from_nowhere() -> None:
    from tvm.relax.op import nothing  # noqa: F401


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: relax.op.nothing, "this TVM has no tvm.relax.op.nothing"),
        (lambda: X.nothing, "this TVM has no tvm.ir.expr.Var.nothing"),
        (lambda: relax.SeqExpr.nothing, "this TVM has no tvm.relax.expr.SeqExpr.nothing"),
        (from_nowhere, "this TVM has no tvm.relax.op.nothing"),
        (
            lambda: relax.op.mean(X, axes=[0]),
            "this TVM's mean takes other parameters: "
            "mean() got an unexpected keyword argument 'axes'",
        ),
        (lambda: tvm.IRModule({}, infos={}), "this TVM's IRModule.__init__ takes other parameters"),
    ],
)
def test_lacks(ask: Callable[[], object], sentence: str) -> None:
    found = drift_of(raised(ask))
    assert found is not None
    assert found.startswith(sentence)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: takes_nothing(1),  # type: ignore[call-arg]
        lambda: Oracle(nothing=1),  # type: ignore[call-arg]
        lambda: "".nothing,  # type: ignore[attr-defined]
        lambda: relax.op.reshape(X, object()),  # raised by TVM
        lambda: int(nothing=1),  # type: ignore[call-overload]
    ],
)
def test_other_exceptions(ask: Callable[[], object]) -> None:
    assert drift_of(raised(ask)) is None
