"""An If gives way to one of its branches, or to one whose condition costs nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.blocks import flatten_branches, settle_conditions
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import nodes, ops_used

Written = Callable[[str], tvm.IRModule]

BRANCHES = """
@R.function
def main(x: R.Tensor((2,), "float32"), k: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
    s = R.sum(x)
    c = R.greater(s, R.const(0.0, "float32"))
    if c:
        a = R.exp(x)
        if c:
            z = R.sin(a)
        else:
            z = R.cos(a)
        r = R.abs(z)
    else:
        r = R.tanh(x)
    y = R.negative(r)
    return y
"""


@pytest.mark.parametrize(
    ("op", "left"),
    [("cos", {"exp", "cos", "abs"}), ("sin", {"exp", "sin", "abs"}), ("tanh", {"tanh"})],
)
def test_branches_go_in_line(written: Written, op: str, left: set[str]) -> None:
    small = minimize(
        written(BRANCHES), lambda m: f"relax.{op}" in ops_used(m), reductions=(flatten_branches,)
    )
    assert nodes(small, relax.If) == []
    assert ops_used(small) == {f"relax.{name}" for name in left | {"sum", "greater", "negative"}}


def test_an_if_that_is_needed_stays(written: Written) -> None:
    mod = written(BRANCHES)
    small = minimize(
        mod,
        lambda m: len(nodes(m, relax.If)) == 1 and "relax.tanh" in ops_used(m),
        reductions=(flatten_branches,),
    )
    assert {"relax.exp", "relax.tanh"} <= ops_used(small)


def test_a_condition_becomes_a_parameter_or_a_constant(written: Written) -> None:
    mod = written(BRANCHES)
    small = minimize(mod, lambda m: True, reductions=(settle_conditions,))
    assert all(cond.cond.same_as(small["main"].params[1]) for cond in nodes(small, relax.If))
    constant = minimize(
        mod,
        lambda m: any(isinstance(i.cond, tvm.ir.GenericConst) for i in nodes(m, relax.If)),
        reductions=(settle_conditions,),
    )
    kinds = {type(i.cond) for i in nodes(constant, relax.If)}
    assert tvm.ir.GenericConst in kinds
