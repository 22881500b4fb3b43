"""A slice of what `against_llvm` compares; the whole is a command."""

from __future__ import annotations

from typing import Any

import pytest

from relaxfuzz.generators.stages import TENSORIR, Stage

from . import against_llvm
from .against_llvm import DIFFERENT, EQUAL, Compared, compare
from .native import in_fork, run

SEED = 3


def test_the_evaluator_is_like_llvm_at_each_stage() -> None:
    compared = [one for index in range(6) for one in in_fork(lambda i=index: compare(SEED, i))]
    judged = [one for one in compared if one.stages]
    assert len(judged) >= 8
    for one in judged:
        assert list(one.stages) == list(TENSORIR)
        assert not one.unexplained, f"{one.name}: {one.detail}"


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any) -> dict[str, list[Any]]:
        return {name: [x + 1 for x in each] for name, each in run(*args).items()}

    monkeypatch.setattr(against_llvm, "run", wrong)
    compared = in_fork(lambda: compare(SEED, 0))
    assert any(one.unexplained for one in compared)


def test_the_stage_that_changes_values_is_named() -> None:
    one = Compared("main", stages={Stage.TENSORIR: EQUAL, Stage.OPAQUE: DIFFERENT})
    assert one.unexplained
    assert one.changed is None
    one.stages[Stage.COMPACTED] = "Unsupported: something"
    one.stages[Stage.SPLIT] = EQUAL
    assert not one.unexplained
    assert one.changed is Stage.SPLIT
