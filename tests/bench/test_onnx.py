"""ONNX's node tests: what counts as a disagreement, and what is excused."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from bench.node_builds import Outcome, Verdict, each_in_fork
from bench.node_tests import FORMS, Imported, NodeTest, disagreements, node_tests
from bench.onnx import Judged, Table, judged

FLOATS = np.array([1.0, np.nan], "float32")


def node_test(*outputs: Any, name: str = "test_abs") -> NodeTest:
    (test,) = node_tests("^test_abs$")
    return dataclasses.replace(test, name=name, outputs=outputs)


@pytest.mark.parametrize(
    ("actual", "outputs", "places"),
    [
        (FLOATS, (FLOATS,), set()),
        ((FLOATS,), (FLOATS,), set()),
        (FLOATS * np.float32(1.0001), (FLOATS,), set()),
        (FLOATS * np.float32(1.01), (FLOATS,), {0}),
        (FLOATS.astype("float64"), (FLOATS,), {0}),
        (FLOATS[:, None], (FLOATS,), {0}),
        ((2, 3), (np.array([2, 3]),), set()),
        ((2,), (np.array([2]),), set()),
        ((2,), (np.array([3]),), {0}),
        ((FLOATS, FLOATS), ((FLOATS, FLOATS),), set()),
        ((FLOATS, FLOATS), (FLOATS, FLOATS + 1), {1}),
        (FLOATS, (FLOATS, FLOATS), {0, 1}),
    ],
)
def test_what_differs(actual: Any, outputs: tuple[Any, ...], places: set[int]) -> None:
    assert {*disagreements(actual, node_test(*outputs))} == places


def test_all_inputs_but_the_first_become_constants() -> None:
    tests = list(node_tests("^test_add$"))
    assert tuple(test.form for test in tests) == FORMS
    assert [len(test.model.graph.input) for test in tests] == [2, 1]
    assert [len(Imported(test, "").args) for test in tests] == [2, 1]


def test_the_evaluator_and_a_build_beside_expected_values() -> None:
    found = {each.one.test.label: each for each in judged("^test_(abs|hardmax_axis_0)$")}
    assert len(found) == 2
    for each in found.values():
        assert each.evaluator.same, each.evaluator.why
        assert each.build.same, each.build.why


def test_a_build_that_fails_is_judged_without_what_was_built_with_it() -> None:
    pattern = "^test_(abs|split_zero_size_splits_opset18)$"
    found = {each.one.test.label: each for each in judged(pattern)}
    assert found["test_abs (parameters)"].build.same
    failed = found["test_split_zero_size_splits_opset18 (constants)"]
    assert failed.build.outcome is Outcome.NONE
    assert "InternalError" in failed.build.why
    assert failed.evaluator.same


def test_a_death_is_an_answer() -> None:
    def work(number: int) -> int:
        if number == 2:
            os.abort()
        return number

    assert list(each_in_fork(work, [1, 2, 3])) == [1, "SIGABRT", 3]


TABLE = """
[[exclusion]]
tests = 'test_one \\(\\w+\\)'
outputs = [1]
whose = "importer"
reason = ""
source = ""

[[exclusion]]
tests = 'test_two \\(parameters\\)'
whose = "not promised"
reason = ""
source = ""
"""

SAME = Verdict(Outcome.SAME)
NOTHING = Verdict(Outcome.NONE)


def other(*places: int) -> Verdict:
    return Verdict(Outcome.OTHER, "", frozenset(places))


@pytest.mark.parametrize(
    ("name", "evaluator", "build", "excused"),
    [
        ("test_one", other(1), other(1), (SAME, SAME)),
        ("test_one", other(0, 1), other(1), (other(0, 1), SAME)),
        ("test_one", NOTHING, other(1), (NOTHING, SAME)),
        ("test_two", NOTHING, other(0), (SAME, SAME)),
        ("test_two", other(0), NOTHING, (SAME, NOTHING)),
        ("test_three", other(0), NOTHING, (other(0), NOTHING)),
    ],
)
def test_only_what_the_table_names_is_excused(
    tmp_path: Path,
    name: str,
    evaluator: Verdict,
    build: Verdict,
    excused: tuple[Verdict, Verdict],
) -> None:
    path = tmp_path / "onnx.toml"
    path.write_text(TABLE)
    table = Table(path)
    found = table.excused(Judged(Imported(node_test(name=name), ""), evaluator, build))
    assert (found.evaluator, found.build) == excused
    assert sum(table.needed.values()) == ((found.evaluator, found.build) != (evaluator, build))
