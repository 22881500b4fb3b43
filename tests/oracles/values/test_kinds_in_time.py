"""A module whose values take seconds is compared on the first kinds of arguments."""

from __future__ import annotations

import time

import pytest
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.expected.inputs import InputKind
from relaxfuzz.oracles.pace import late, paced, share
from relaxfuzz.oracles.silence.log import answers, asking


@I.ir_module
class Sum:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.add(x, x)


def kinds(made: Expectations) -> list[InputKind]:
    return [each.kind for each in made.of("main")]


def test_all_kinds_are_evaluated_in_time() -> None:
    with answers() as given:
        asking("evaluated")
        assert len(kinds(Expectations(Sum))) > 5
    assert not any(each.rule == "no-time" for each in given["evaluated"].silences)


def test_no_more_kinds_are_compared_when_the_time_is_used_up() -> None:
    made = Expectations(Sum)
    with answers() as given, paced(0.0):
        asking("evaluated")
        assert kinds(made) == kinds(made) == [InputKind.WHOLE], "one kind is compared all the same"
    left = {each.why for each in given["evaluated"].silences if each.rule == "no-time"}
    assert left == {str(kind) for kind in InputKind if kind is not InputKind.WHOLE}


def test_each_check_has_an_equal_part_of_the_time() -> None:
    seconds = share(time.monotonic() + 1e6, 4)
    assert seconds == pytest.approx(1e6 / 4, rel=0.01)


@pytest.mark.parametrize("build", [None, 1.0])
def test_time_that_others_use_counts_if_all_checks_share_it(build: float | None) -> None:
    with paced(0.01, build):
        time.sleep(0.02)
        assert late() == (build is not None)
