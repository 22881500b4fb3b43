"""Laws of operators: the references keep them, and each trial relates what it says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.ops import laws, table
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.metamorphic.laws import Question, subjects

LAWFUL = [name for name, op in table.items() if op.laws]


@pytest.mark.parametrize("name", LAWFUL)
def test_references_keep_the_laws(name: str) -> None:
    strategy = ir_modules(ops=[name], max_functions=1, max_bindings=4)
    for index in range(2):
        for subject in subjects(example(strategy, 0, index)):
            for question in subject.questions:
                if subject.op == f"relax.{name}" and not question.trial.nan:
                    _keeps(Evaluator(subject.mod, wraps=True), question)


def _keeps(evaluator: Evaluator, question: Question) -> None:
    try:
        results = [plan(evaluator.run) for plan in question.plans()]
    except (Unsupported, Mismatch, Undefined):
        return
    assert question.wrong(results) is None, question.shown(results)


def test_nan_comes_to_three_places() -> None:
    law = laws.symmetric(lambda attrs, rank: [1])
    plain, special = law.trials([laws.elements((2, 3), np.dtype("float32"))], None)
    assert (plain.nan, special.nan) == (False, True)
    places = [np.flatnonzero(np.isnan(x[0])).tolist() for (x,) in special.calls]
    assert places == [[0], [1], [2]]
    assert not any(np.isnan(x).any() for (x,) in plain.calls)


def test_integers_have_no_nan() -> None:
    law = laws.symmetric(lambda attrs, rank: range(rank))
    (trial,) = law.trials([laws.elements((4,), np.dtype("int8"))], None)
    assert not trial.nan
    assert len({tuple(x.tolist()) for (x,) in trial.calls}) == 3
    assert len({tuple(sorted(x.tolist())) for (x,) in trial.calls}) == 1


def test_an_axis_of_one_element_has_one_order() -> None:
    law = laws.symmetric(lambda attrs, rank: [0])
    assert not list(law.trials([laws.elements((1, 3), np.dtype("float32"))], None))


def test_windows_that_do_not_fit_from_both_ends_are_left_alone() -> None:
    def pool(strides: int, padding: tuple[int, int]) -> SimpleNamespace:
        return SimpleNamespace(
            layout="NCW", out_layout="NCW", pool_size=[2], strides=[strides], dilation=[1],
            padding=padding, ceil_mode=False,
        )  # fmt: skip

    x = [laws.elements((1, 1, 5), np.dtype("float32"))]
    assert list(laws.MIRRORED.trials(x, pool(1, (0, 0))))
    assert not list(laws.MIRRORED.trials(x, pool(2, (0, 0))))
    assert not list(laws.MIRRORED.trials(x, pool(1, (0, 1))))
    assert list(laws.within().trials(x, pool(1, (0, 1))))
    assert not list(laws.within().trials(x, pool(1, (2, 0)))), "a window without an element"


def test_padding_that_counts_is_a_bound() -> None:
    x = [laws.elements((1, 1, 5), np.dtype("uint8"))]
    counted, not_counted = (
        [trial.bounds for trial in laws.within().trials(x, SimpleNamespace(count_include_pad=each))]
        for each in (True, False)
    )
    assert counted[1:] == [(0, 100), (0, 255), (0, 0)]
    assert not_counted[1:] == [(100, 100), (255, 255), (0, 0)]


@I.ir_module
class Pooled:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), "float32")) -> R.Tensor((1, 2, 4, 4), "float32"):
        y = R.nn.max_pool2d(x, (3, 3), padding=(1, 1))
        return R.nn.max_pool2d(y, (3, 3), padding=(1, 1))


def test_equal_calls_are_asked_about_once() -> None:
    assert [each.op for each in subjects(Pooled)] == ["relax.nn.max_pool2d"]
