"""A slice of what `against_llvm` compares; the whole is a command."""

from __future__ import annotations

from typing import Any

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.generators.stages import Stage

from . import against_llvm
from .against_llvm import DIFFERENT, EVALUATED, compare, compared
from .native import in_fork, run

SEED = 3


def test_the_evaluator_is_like_llvm_at_each_stage() -> None:
    found = [one for index in range(6) for one in in_fork(lambda i=index: compare(SEED, i))]
    judged = [one for one in found if one.stages]
    assert len(judged) >= 8
    for one in judged:
        assert tuple(one.stages) == EVALUATED
        assert not one.unexplained, f"{one.name}: {one.detail}"


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any) -> dict[str, list[Any]]:
        return {name: [x + 1 for x in each] for name, each in run(*args).items()}

    monkeypatch.setattr(against_llvm, "run", wrong)
    found = in_fork(lambda: compare(SEED, 0))
    assert any(one.unexplained for one in found)


@I.ir_module
class Carried:
    """PlanAndUpdateBufferAllocationLocation allocates the sum anew in each iteration, which
    StorageRewrite undoes."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        total = T.sblock_alloc_buffer((1,), "int32")
        for i in range(4):
            if i == 0:
                total[0] = 0
            total[0] = total[0] + A[i]
            B[i] = total[0]


def test_the_pass_that_makes_values_right_again_is_named() -> None:
    (one,) = in_fork(lambda: compared(Carried))
    assert not one.unexplained
    assert one.stages[Stage.COMPACTED] == DIFFERENT
    assert one.by == "tirx.StorageRewrite"
