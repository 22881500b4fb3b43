"""Dataflow blocks become plain, and blocks in a row one."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.blocks import flatten_branches, plain_blocks
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import blocks_of, has_dataflow, nodes

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


def test_one_dataflow_block_that_is_needed_stays(written: Written) -> None:
    small = minimize(written(BLOCKS), has_dataflow, reductions=(plain_blocks,))
    assert sum(isinstance(block, relax.DataflowBlock) for block in blocks_of(small)) == 1


def test_blocks_that_are_needed_stay_as_they_are(written: Written) -> None:
    mod = written(BLOCKS)
    count = len(blocks_of(mod))
    same = minimize(mod, lambda m: len(blocks_of(m)) == count, reductions=(plain_blocks,))
    assert len(same["main"].body.blocks) == len(mod["main"].body.blocks)


def test_what_comes_out_of_a_branch_joins_what_is_around(written: Written) -> None:
    small = minimize(written(BLOCKS), lambda m: True, reductions=(flatten_branches, plain_blocks))
    assert len(blocks_of(small)) == 1
