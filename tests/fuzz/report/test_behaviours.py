"""The behaviours of passes, in each form of the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from relaxfuzz.fuzz.findings.known import Expected
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.targets import MOST_BEHAVIOURS, PassStats
from relaxfuzz.fuzz.report.behaviours import did, lines_on_own, summary
from relaxfuzz.fuzz.report.data import gather
from relaxfuzz.fuzz.report.html import html
from relaxfuzz.fuzz.report.jsonl import jsonl
from relaxfuzz.fuzz.report.markdown import markdown

ONE = PassStats(checks=9, did={"adds relax.astype": 2, "raises ValueError: a < b": 1})
TWO = PassStats(checks=9, did={"adds a PrimFunc": 5, "adds relax.astype": 2})


def test_behaviours_of_two_runs_in_each_form(
    tmp_path: Path, a_run: Callable[..., Run], expected: Expected
) -> None:
    with Store(tmp_path / "out") as store:
        for stats in (ONE, TWO):
            store.runs.begin(a_run(stats={"FuseTIR": stats, "sequence": PassStats(checks=1)}))
        report = gather(store, expected)
    total = {"adds a PrimFunc": 5, "adds relax.astype": 4, "raises ValueError: a < b": 1}
    (line,) = (
        each
        for each in map(json.loads, jsonl(report).splitlines())
        if each.get("name") == "FuseTIR"
    )
    assert line["did"] == total
    assert "did 3 things" in (page := html(report))
    assert "<td>raises ValueError: a &lt; b</td>" in page
    assert "adds a PrimFunc 5, adds relax.astype 4, raises ValueError: a &#60; b" in markdown(
        report
    )


def test_a_line_for_a_pass_of_the_users() -> None:
    (line,) = lines_on_own({"own()": ONE + TWO, "FuseTIR": ONE, "idle()": PassStats(checks=9)})
    assert line == (
        "own() did 3 things: adds a PrimFunc 5, adds relax.astype 4, raises ValueError: a < b 1"
    )
    many = [(f"adds attribute {number}", 1) for number in range(10)]
    assert summary(many).endswith("adds attribute 7 1, 2 more")


def test_behaviours_with_names_are_bounded() -> None:
    stats = PassStats()
    for number in range(MOST_BEHAVIOURS + 2):
        stats += PassStats(did={f"adds attribute {number}": 1})
    assert len(did(stats)) == MOST_BEHAVIOURS
