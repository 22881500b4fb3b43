"""Each operator is compared somewhere: an operator without a value is one that nobody tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.generators.ops import table
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.expected.inputs import InputKind
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from ...generators.accepted import sample

DRAWS = range(1, 9)


def of_parameters(call: relax.Call) -> tvm.IRModule:
    """The call on parameters in place of its tensors."""
    params: list[relax.Var] = []

    def operand(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([operand(field) for field in expr.fields])
        if not isinstance(expr.ty, relax.TensorType):
            return expr
        params.append(relax.Var(f"x{len(params)}", expr.ty))
        return params[-1]

    builder = relax.BlockBuilder()
    made = relax.Call(call.op, [operand(arg) for arg in call.args], call.attrs, call.ty_args)
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(made))
    return builder.finalize()


def has_value(op: Op, draw: int) -> bool:
    calls = Expectations(of_parameters(sample(op, draw).call)).of("main", kinds=tuple(InputKind))
    return any(True for _ in calls)


def test_each_operator_has_values() -> None:
    silent = [op.name for op in table.values() if not any(has_value(op, draw) for draw in DRAWS)]
    assert not silent


@I.ir_module
class Ties:
    @R.function
    def main(upper: R.Tensor((1, 4, 1, 1), "float32")) -> R.Tensor((1, 5, 3, 1), "float32"):
        with R.dataflow():
            x = R.zeros(R.shape([1, 5, 3, 1]), dtype="float32")
            y = R.grad.max_pool2d_backward(
                upper, x, pool_size=[2, 3], padding=[0, 0, 0, 0], layout="NHWC", out_layout="NHWC"
            )
            R.output(y)
        return y


def test_any_result_is_right_and_not_any_access() -> None:
    """Of equal elements any may get the gradient; memory outside of it may not be read."""
    expectations = Expectations(Ties)
    assert not list(expectations.of("main"))
    (e, *_) = expectations.valueless("main")
    assert not e.valued
    assert not e.promised
    (violation,) = check(Case(Ties, (PassCall("LegalizeOps()"),)), oracles=["sanitized"])
    assert violation.key == ("read outside by function max_poold_backward",)


def test_numbers_without_ties_suit_every_kind() -> None:
    function: Any = Ties["main"]
    body = of_parameters(function.body.blocks[0].bindings[1].value)
    calls = list(Expectations(body).of("main", kinds=tuple(InputKind)))
    assert len(calls) > 3
    assert all(len(np.unique(e.args[1])) == e.args[1].size for e in calls)
