"""Stores of several machines become one: each bug one row, and nothing of the others changes."""

from __future__ import annotations

import base64
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from relaxfuzz.compat import weights
from relaxfuzz.fuzz.findings import joining
from relaxfuzz.fuzz.findings.dedup import place
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.rows import BY_HAND
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import BadStore, Store
from relaxfuzz.fuzz.report import rows
from relaxfuzz.fuzz.system.errors import UserError
from tests.fuzz.findings.test_store import FINDING

RUN = Run(command="run", started=1e9, seed=1, workers=1, versions={"tvm": "0"}, passes=("A",))


def found(message: str, blamed: str = "FuseOps", size: int = 1) -> Finding:
    """A confirmed finding; those that blame one pass for one site are one bug."""
    violation = dataclasses.replace(FINDING.violation, key=("Error", message), pass_name=blamed)
    return dataclasses.replace(FINDING, violation=violation, source="#\n" * size, reduced=True)


Machine = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Makes a folder of findings, each with a reproducer."""

    def make(name: str, *findings: Finding, run: Run = RUN) -> Path:
        with Store(tmp_path / name) as store:
            for finding in findings:
                place(store, store.publish(finding, f"# of {name}\n"))
            ids = tuple(finding.id for finding in findings)
            store.runs.begin(dataclasses.replace(run, found=ids))
        return tmp_path / name

    return make


def joined(into: Path, *others: Path) -> list[list[str]]:
    """The ids of the findings of each row after a join."""
    assert rows.join(into, others) == 0
    with Store(into, create=False) as store:
        return [[member.finding for member in row.members] for row in store.rows.all()]


def test_one_bug_of_two_machines_is_one_row(machine: Machine, tmp_path: Path) -> None:
    one, same, other = found("a"), found("b"), found("c", "FuseTIR")
    first, second = machine("1", one), machine("2", same, other)
    assert joined(tmp_path / "out", first, second) == [[one.id, same.id], [other.id]]
    with Store(tmp_path / "out", create=False) as store:
        path = store.reproducer(store.get(other.id) or other)
        assert path is not None
        assert path.read_text() == "# of 2\n"
        assert store.module(other).read_text() == other.source


def test_a_second_join_changes_nothing(machine: Machine, tmp_path: Path) -> None:
    first = machine("1", found("a"))
    with Store(first, create=False, write=True) as store:
        store.rows.judge(found("a").id, verdict="wontfix", note="ours")
    later = dataclasses.replace(RUN, started=RUN.started - 1)
    second = machine("2", found("c", "FuseTIR"), run=later)
    before = joined(tmp_path / "out", first, second)
    assert joined(tmp_path / "out", first, second) == before
    with Store(tmp_path / "out", create=False) as store:
        assert [run.started for run in store.runs.all().values()] == [later.started, RUN.started]
        assert store.rows.get(found("a").id).note == "ours"


@pytest.mark.parametrize("order", [("1", "2"), ("2", "1")])
def test_the_smaller_module_of_one_finding_is_kept(
    machine: Machine, tmp_path: Path, order: tuple[str, str]
) -> None:
    machine("1", found("a", size=9))
    machine("2", found("a", size=2))
    joined(tmp_path / "out", *(tmp_path / name for name in order))
    with Store(tmp_path / "out", create=False) as store:
        (kept,) = store.findings()
        assert kept.source == found("a", size=2).source
        path = store.reproducer(kept)
        assert path is not None
        assert path.read_text() == "# of 2\n"


def test_an_unconfirmed_finding_stays_behind_a_confirmed_one(
    machine: Machine, tmp_path: Path
) -> None:
    doubtful = dataclasses.replace(found("a"), source="", module="{}", confirmed=False)
    with Store(tmp_path / "2") as store:
        store.put(doubtful)
    joined(tmp_path / "out", tmp_path / "2", machine("1", found("a", size=9)))
    with Store(tmp_path / "out", create=False) as store:
        assert [each.id for each in store.findings()] == [doubtful.id]
        assert not list(store.findings(confirmed=False))


def test_decisions_of_people_are_kept(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, c = found("a"), found("b"), found("c", "FuseTIR")
    first, second = machine("1", a, b), machine("2", a, c)
    with Store(first, create=False, write=True) as store:
        store.rows.split(b.id)
        store.rows.judge(a.id, verdict="true", note="seen")
    with Store(second, create=False, write=True) as store:
        store.rows.merge(a.id, [c.id])
        store.rows.judge(a.id, verdict="false")
    assert sorted(joined(tmp_path / "out", first, second)) == sorted([[a.id, c.id], [b.id]])
    with Store(tmp_path / "out", create=False) as store:
        row = store.rows.get(a.id)
        assert (row.verdict, row.note) == ("true", "seen")
        assert [member.why for member in row.members] == ["", BY_HAND]
    printed = capsys.readouterr()
    assert f"{a.id}: stays 'true'; '{second}' has 'false'" in printed.err
    assert "2 rows, 2 new; 3 new findings of 2 folders" in printed.out


def test_what_waits_for_triage_waits_in_the_joined_store(machine: Machine, tmp_path: Path) -> None:
    with Store(tmp_path / "2") as store:
        store.pend(found("a"))
        store.pend(found("c", "FuseTIR"))
    joined(tmp_path / "out", machine("1", found("a")), tmp_path / "2")
    with Store(tmp_path / "out", create=False) as store:
        assert [each.id for each in store.pending()] == [found("c", "FuseTIR").id]


def test_large_constants_come_along(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, weights.VARIABLE, "")
    monkeypatch.delitem(os.environ, weights.VARIABLE)
    short = [base64.b64encode(f"relaxfuzz weight: {name} []".encode()) for name in ("0a", "0b")]
    module = " ".join(each.decode() for each in short)
    first = machine("1", dataclasses.replace(found("a"), module=module))
    (first / weights.FOLDER).mkdir()
    (first / weights.FOLDER / "0a").write_bytes(b"data")
    (first / weights.FOLDER / "0b").symlink_to(first / weights.FOLDER / "0a")
    joined(tmp_path / "out", first)
    (brought,) = (tmp_path / "out" / weights.FOLDER).iterdir()
    assert (brought.name, brought.read_bytes()) == ("0a", b"data")


def test_a_folder_that_is_no_store_is_refused(machine: Machine, tmp_path: Path) -> None:
    first = machine("1", found("a"))
    with pytest.raises(BadStore, match="no findings in"):
        rows.join(tmp_path / "out", [first, tmp_path / "missing"])
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="is the folder of --out itself"):
        rows.join(first, [first])


def test_an_interrupted_join_has_changed_no_row(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = machine("1", found("a")), machine("2", found("c", "FuseTIR"))
    before = joined(tmp_path / "out", first)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(joining, "_join_runs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rows.join(tmp_path / "out", [second])
    monkeypatch.undo()
    assert joined(tmp_path / "out", first) == before
