"""Passes that are new in TVM are fuzzed, and marked wherever they appear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relaxfuzz.fuzz.output.events import SCHEMA

from .cases import Case
from .drill import relaxfuzz

pytestmark = pytest.mark.session

NEW = Case("new passes", (f"add {Path(__file__).with_name('new_passes.py')}",), ())
FAULTY = {("NewMutating", "mutation"), ("NewCrashing", "crash")}


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("new-passes")


@pytest.fixture(scope="module")
def campaign(folder: Path) -> list[dict[str, Any]]:
    """The events of a campaign on all passes."""
    ending = relaxfuzz(NEW, folder, "run", "--modules", "20", "--seed", "3", "--json")
    assert ending.code == 1, ending.output
    return events(ending.output)


def test_the_faulty_ones_are_found_and_no_other(campaign: list[dict[str, Any]]) -> None:
    found = [each for each in campaign if each["event"] == "finding"]
    assert {(f["pass"], f["oracle"]) for f in found if not f["contract"]} == FAULTY
    assert all(f["contract"] for f in found if not f["pass"].startswith("New"))
    (new,) = (each for each in campaign if each["event"] == "new")
    assert set(new["names"]) == {"NewRight", "NewRefusing", "NewMutating", "NewCrashing"}


def test_they_get_a_small_share(campaign: list[dict[str, Any]]) -> None:
    checks = {each["pass"]: each["checks"] for each in campaign if each["event"] == "pass"}
    for name in ("NewRight", "NewRefusing", "NewMutating", "NewCrashing"):
        assert 0 < checks[name] <= 0.03 * sum(checks.values())


def test_lists_and_reports_mark_them(campaign: list[dict[str, Any]], folder: Path) -> None:
    listed = relaxfuzz(NEW, folder, "findings", "--json").output
    assert ["NewMutating (no contract)"] in [each["labels"] for each in events(listed)]
    names = {"--html": "r.html", "--markdown": "r.md", "--jsonl": "r.jsonl"}
    options = [word for pair in names.items() for word in pair]
    assert relaxfuzz(NEW, folder, "report", "relaxfuzz-out", *options).code == 0
    texts = {name: (folder / name).read_text() for name in names.values()}
    assert "NewMutating (no contract)" in texts["r.html"]
    assert "NewRight (no contract)" in texts["r.html"]  # without findings, among the passes
    assert "NewMutating (no contract)" in texts["r.md"]
    lines = [json.loads(line) for line in texts["r.jsonl"].splitlines()]
    contracts = {line["name"]: line["contract"] for line in lines if line["kind"] == "pass"}
    assert contracts["FuseOps"] is contracts["sequence"] is True
    assert contracts["NewRight"] is contracts["NewMutating"] is False
    script = next((folder / "relaxfuzz-out" / "reproducers").glob("NewMutating-mutation-*.py"))
    assert "NewMutating (no contract): " in script.read_text()


def test_passes_lists_them(folder: Path) -> None:
    output = relaxfuzz(NEW, folder, "list", "passes", "--json").output
    listed = {each["pass"]: each for each in events(output)}
    assert listed["NewRight"]["contract"] is False
    assert "NewRight()" in listed["NewRight"]["variants"]
    assert listed["NewNeedsArguments"] == {
        "schema": SCHEMA,
        "pass": "NewNeedsArguments",
        "left_out": "needs arguments: level, kind",
    }
    assert listed["FuseOps"]["contract"] is True


def test_one_is_named(folder: Path) -> None:
    right = relaxfuzz(
        NEW, folder, "run", "NewRight", "NewRefusing", "--modules", "4", "--seed", "3"
    )
    assert right.code == 0, right.output
    assert "no contract: NewRight, NewRefusing" in right.output
    spelling = "NewNeedsArguments(2, kind='crash')"
    options = ("--modules", "2", "--fail-on", "C", "--out", "other")
    faulty = relaxfuzz(NEW, folder, "run", spelling, *options)
    assert faulty.code == 1, faulty.output
    assert "NewNeedsArguments (no contract)" in faulty.output
    unfit = relaxfuzz(NEW, folder, "run", "NewNeedsArguments", "--modules", "2")
    assert unfit.code == 2
    assert "missing 1 required" in unfit.output


def test_the_plugin_marks_them(folder: Path) -> None:
    ending = relaxfuzz(
        NEW,
        folder,
        *("--relaxfuzz", "NewCrashing", "--relaxfuzz-modules", "3"),
        module="pytest",
    )
    assert ending.code == 1, ending.output
    assert "NewCrashing (no contract): ValueError" in ending.output
