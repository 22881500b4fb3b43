"""Which findings decide, and what counts for a finding that was not measured."""

from __future__ import annotations

import pytest

from relaxfuzz.fuzz.process.protocol import Death
from relaxfuzz.oracles.consequence import assumed
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.grading import decides
from relaxfuzz.oracles.tiers import ORACLES
from relaxfuzz.oracles.violation import Violation

A, B, C = Grade


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (("evaluated", "FuseOps", "values"), A),
        (("well-formed", "FuseOps", "undefined"), A),
        (("crash", "FuseOps", "ValueError", "no"), B),
        (("signature", "FuseOps", "a parameter is lost"), B),
        (("attributes", "FuseOps", "an attribute is lost"), B),
        (("mutation", "FuseOps", "the input is changed"), B),
        (("signature", "FuseOps", "less is known of the result of a public function"), C),
        (("devices", "FuseOps", "gives its result on another virtual device"), C),
        (("idempotent", "FuseOps", "a second run changes the result"), C),
        (("idempotent", "mine", "no normal form: a second run changes the result"), C),
        (("json", "FuseOps", "gives something else for the same module"), C),
        (("tvmscript", "TVMScript", "unreadable"), C),
        *(((death, "FuseOps"), A) for death in Death if death is not Death.CHANGED),
    ],
)
def test_what_was_not_measured_has_the_gravest_grade_that_its_report_allows(
    key: tuple[str, ...], expected: Grade
) -> None:
    oracle, blamed, *rest = key
    violation = Violation("", "", tuple(rest)).blame(oracle, blamed)
    assert assumed(violation).grade is expected


def test_a_hint_decides_only_where_its_oracle_is_named() -> None:
    hint = ("idempotent", "mine", "no normal form: a second run changes the result")
    assert [decides(hint), decides(hint, ["idempotent"]), decides(hint, ["crash"])] == [0, 1, 0]
    assert decides(("idempotent", "mine", "a second run changes the result"))
    assert decides(("segfault", "mine"))


def test_a_death_is_told_from_an_oracle_by_its_name() -> None:
    assert not {*Death} & ORACLES.keys()


def test_grades_are_ordered() -> None:
    assert sorted([C, A, B]) == [A, B, C]
    assert [each.reaches(B) for each in Grade] == [True, True, False]
