"""The rule of grades: the promise, what is rare in the module, and that a death stays grave."""

from __future__ import annotations

import pytest

from relaxfuzz.fuzz.process.protocol import Death
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.grades.rule import decides, grade, out_of_order, promise
from relaxfuzz.oracles.tiers import ORACLES

A, B, C = Grade


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (("evaluated", "FuseOps", "values"), A),
        (("crash", "FuseOps", "ValueError", "no"), B),
        (("signature", "FuseOps", "a parameter is lost"), B),
        (("signature", "FuseOps", "less is known of the result of a public function"), C),
        (("idempotent", "FuseOps", "a second run changes the result"), C),
        (("idempotent", "FuseOps", "a second run raises", "ValueError"), B),
        (("renaming", "FuseOps", "exception", "ValueError"), B),
        (("renaming", "FuseOps", "gives something else for the same module"), C),
        (("refused", "type inference", "SIGSEGV", "relax.nn.pad"), B),
        (("refused", "relax.analysis.well_formed", "accepted", "x"), C),
        (("segfault", "FuseOps"), A),
    ],
)
def test_the_promise(key: tuple[str, ...], expected: Grade) -> None:
    assert promise(key) is expected


def test_a_hint_decides_only_where_its_oracle_is_named() -> None:
    hint = ("idempotent", "mine", "no normal form: a second run changes the result")
    assert [decides(hint), decides(hint, ["idempotent"]), decides(hint, ["crash"])] == [0, 1, 0]
    assert decides(("idempotent", "mine", "a second run changes the result"))
    assert decides(("segfault", "mine"))
    assert promise(hint) is C


def test_every_death_is_of_the_gravest_grade() -> None:
    assert not {*Death} & ORACLES.keys(), "a death is told from an oracle by its name"
    assert {promise((death, "FuseOps")) for death in Death} == {A}


@pytest.mark.parametrize(
    ("oracle", "rare", "expected"),
    [
        ("evaluated", (), A),
        ("evaluated", ("any",), B),
        ("evaluated", ("any", "recursion"), C),
        ("crash", ("any",), C),
        ("segfault", ("any",), B),
        ("segfault", ("any", "recursion", "closures"), B),
        ("refused", ("any", "recursion"), C),
        ("idempotent", (), C),
        ("idempotent", ("any",), C),
    ],
)
def test_what_is_rare_lowers_it(oracle: str, rare: tuple[str, ...], expected: Grade) -> None:
    assert grade((oracle, "FuseOps", "x"), rare) is expected


def test_a_death_that_an_oracle_has_seen_stays_grave() -> None:
    assert grade(("refused", "type inference", "SIGSEGV", "x"), ("any", "recursion")) is B


@pytest.mark.parametrize(
    ("key", "rare", "counts"),
    [
        (("tvmscript", "TVMScript", "parse"), "not-tvmscript", False),
        (("json", "FuseOps", "x"), "not-tvmscript", True),
        (("crash", "LegalizeOps", "ValueError"), "not-legalized", False),
        (("executed-by-pipeline", "relax.add", "values"), "not-legalized", False),
        (("crash", "FuseOps", "ValueError"), "not-legalized", True),
    ],
)
def test_the_bug_itself_is_nothing_rare(key: tuple[str, ...], rare: str, counts: bool) -> None:
    assert (grade(key, (rare, "any")) is C) >= counts
    assert (grade(key, (rare,)) is not promise(key)) == (counts and promise(key) is not C)


@pytest.mark.parametrize(
    ("name", "stage", "expected"),
    [
        ("FuseOps", Stage.ANNOTATED, False),
        ("FuseOps", Stage.RAW, True),
        ("LegalizeOps", Stage.RAW, False),
        ("LegalizeOps", Stage.FUSED, True),
        ("DeadCodeElimination", Stage.FUSED, False),  # no step of the pipeline
    ],
)
def test_the_order_of_the_pipeline(name: str, stage: Stage, expected: bool) -> None:
    assert out_of_order(name, stage) is expected


def test_grades_are_ordered() -> None:
    assert sorted([C, A, B]) == [A, B, C]
    assert [each.next for each in Grade] == [B, C, C]
    assert [each.reaches(B) for each in Grade] == [True, True, False]
