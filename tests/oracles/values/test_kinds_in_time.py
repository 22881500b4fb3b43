"""A module whose values take seconds is compared on the first kinds of arguments."""

from __future__ import annotations

import pytest
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.silence.log import answers, asking
from relaxfuzz.oracles.values import expectations
from relaxfuzz.oracles.values.expectations import Expectations
from relaxfuzz.oracles.values.inputs import Kind


@I.ir_module
class Sum:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.add(x, x)


def kinds(made: Expectations) -> list[Kind]:
    return [each.kind for each in made.of("main")]


def test_all_kinds_are_evaluated_in_time() -> None:
    with answers() as given:
        asking("evaluated")
        assert len(kinds(Expectations(Sum))) > 5
    assert not any(each.rule == "no-time" for each in given["evaluated"].silences)


def test_no_more_kinds_are_evaluated_when_the_time_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expectations, "ENOUGH", 0.0)
    made = Expectations(Sum)
    with answers() as given:
        asking("evaluated")
        assert kinds(made) == kinds(made) == [Kind.WHOLE], "what is known is compared"
    left = {each.why for each in given["evaluated"].silences if each.rule == "no-time"}
    assert left == {str(kind) for kind in Kind if kind is not Kind.WHOLE}
