"""Blocks, branches and results of sequences become fewer and plainer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.blocks import (
    flatten_branches,
    plain_blocks,
    return_less,
    shorten_branches,
)
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import bindings_of, blocks_of, has_dataflow, nodes, ops_used

Written = Callable[[str], tvm.IRModule]

BLOCKS = """
@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = R.sin(a)
        R.output(b)
    d = R.cos(b)
    with R.dataflow():
        e = R.add(b, d)
        R.output(e)
    if c:
        f = R.tanh(e)
        g = R.abs(f)
    else:
        g = R.negative(e)
    return g
"""


def test_all_blocks_become_one_plain_block(written: Written) -> None:
    small = minimize(written(BLOCKS), lambda m: True, reductions=(plain_blocks,))
    assert not has_dataflow(small)
    assert nodes(small, relax.DataflowVar) == []
    assert len(small["main"].body.blocks) == 1


def test_what_comes_out_of_a_branch_joins_what_is_around(written: Written) -> None:
    small = minimize(written(BLOCKS), lambda m: True, reductions=(flatten_branches, plain_blocks))
    assert len(blocks_of(small)) == 1


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


RESULTS = """
@R.function
def main(x: R.Tensor((2, 3), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = R.sin(a)
        c = R.permute_dims(b)
        R.output(c, a)
    d = R.tanh(c)
    return (a, d, c)
"""


def uses(*ops: str) -> Callable[[tvm.IRModule], bool]:
    return lambda mod: {f"relax.{op}" for op in ops} <= ops_used(mod)


def test_what_comes_later_goes(written: Written) -> None:
    small = minimize(written(RESULTS), uses("sin"), reductions=(return_less,))
    assert ops_used(small) == {"relax.exp", "relax.sin"}
    assert small["main"].body.body.same_as(bindings_of(small)[-1].var)


def test_a_branch_returns_what_was_there_before(written: Written) -> None:
    mod = written("""
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            a = R.exp(x)
            b = R.sin(a)
            z = R.subtract(b, a)
        else:
            d = R.tanh(x)
            z = R.multiply(d, d)
        return z
    """)

    def holds(candidate: tvm.IRModule) -> bool:
        return bool(nodes(candidate, relax.If)) and uses("exp")(candidate)

    small = minimize(mod, holds, reductions=(shorten_branches,))
    assert ops_used(small) == {"relax.exp"}
