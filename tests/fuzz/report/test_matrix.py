"""The matrix: bugs, checks without bugs, and oracles that do not run."""

from __future__ import annotations

import dataclasses

import pytest

from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.report.data import Report
from relaxfuzz.fuzz.report.matrix import Cell, Matrix, in_order, matrix, shares
from relaxfuzz.fuzz.report.silences import silences


@pytest.fixture(scope="module")
def made(report: Report) -> Matrix:
    return matrix(report)


def cell(made: Matrix, name: str, oracle: str) -> Cell:
    (row,) = (row for row in (*made.rows, *made.others) if row.name == name)
    return row.cells[[column.name for column in made.columns].index(oracle)]


def test_rows_and_columns(made: Matrix) -> None:
    assert [row.name for row in made.rows] == ["MyPass", "FuseOps", "default"]
    assert [row.name for row in made.others] == ["FuseTIR", "LiftTransformParams"]
    assert list(made.groups) == ["structural", "metamorphic", "evaluated", "executed"]
    assert all(len(row.cells) == len(made.columns) for row in (*made.rows, *made.others))


def test_findings(made: Matrix) -> None:
    assert cell(made, "FuseOps", "crash") == Cell(new=1, known=0, checks=800)
    assert cell(made, "FuseOps", "evaluated") == Cell(new=1, known=0, checks=760)
    assert cell(made, "LiftTransformParams", "well-formed").known == 1


def test_checks_and_oracles_that_do_not_run(made: Matrix) -> None:
    assert cell(made, "FuseOps", "mutation") == Cell(0, 0, 800), "tier 1 runs in every check"
    assert cell(made, "FuseOps", "json") == Cell(0, 0, 80)
    assert cell(made, "FuseOps", "source") == Cell(0, 0, 0)
    assert cell(made, "default", "exec-modes") == Cell(0, 0, 10)


def test_reasons_for_silence(made: Matrix, report: Report) -> None:
    assert cell(made, "FuseOps", "reference").skipped == "the pass has no reference"
    assert cell(made, "FuseOps", "exec-modes").skipped == "runs on pipelines only"
    assert cell(made, "default", "idempotent").skipped == "runs on single passes only"
    assert cell(made, "default", "evaluated").skipped == "runs on single passes only"
    stats = {"AttachGlobalSymbol": report.stats["FuseOps"]}
    run = dataclasses.replace(report.runs[1], stats=stats)
    public = matrix(dataclasses.replace(report, runs={1: run}))
    found = cell(public, "AttachGlobalSymbol", "functions")
    assert found.checks == 0
    assert "(" in found.skipped, "the contract's reason, and its source"


def test_deaths_have_columns_where_they_were_met(report: Report) -> None:
    entry = dataclasses.replace(report.entries[0], places=(("FuseOps", "segfault"),))
    made = matrix(dataclasses.replace(report, entries=(entry,)))
    assert [column.name for column in made.groups["died"]] == ["segfault"]
    assert cell(made, "FuseOps", "segfault") == Cell(1, 0, 800)


def test_devices_have_columns_where_something_was_executed(report: Report) -> None:
    names = {column.name for column in matrix(report).columns}
    assert not {name for name in names if name.startswith("executed-on-")}
    stats = PassStats(checks=4, sampled={"executed-on-llvm": 2})
    run = dataclasses.replace(report.runs[1], stats={"tirx.RemoveNoOp": stats})
    made = matrix(dataclasses.replace(report, runs={1: run}))
    executed = [each.name for each in made.columns if each.name.startswith("executed-on-")]
    assert executed == ["executed-on-llvm"]


def test_order() -> None:
    items = ["default", "FuseOps", "sequence", "Normalize", "Mine()", "FuseOps(fuse_opt_level=2)"]
    assert in_order(items) == [
        "Mine()", "Normalize", "FuseOps", "FuseOps(fuse_opt_level=2)", "sequence", "default",
    ]  # fmt: skip


def test_shares(report: Report) -> None:
    mine, fuse, pipeline = shares(report)
    assert (mine.name, fuse.name, pipeline.name) == ("MyPass()", "FuseOps", "default")
    assert (fuse.checks, fuse.applied, fuse.changed, fuse.known) == (800, 0.8, 0.25, 0.05)
    assert (fuse.avoided, fuse.rate, fuse.bugs) == (40, 200.0, 2)
    assert mine.changed == 0
    assert pipeline.changed is None


def test_rules_of_silence_come_with_their_passes(report: Report) -> None:
    stats = {
        "FuseOps": PassStats(checks=9, silenced={"overflow": 2, "undefined": 5}),
        "FuseTIR": PassStats(checks=9, silenced={"overflow": 4}),
    }
    first, second = silences(stats)
    assert (first.rule.name, first.checks) == ("overflow", 6)
    assert first.passes == (("FuseTIR", 4), ("FuseOps", 2))
    assert (second.rule.name, second.others) == ("undefined", 0)
