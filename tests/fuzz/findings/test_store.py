"""Findings survive in the store: written whole, read back, never doubled, never mixed."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.finding import FORMAT, Finding, UnknownFormat
from relaxfuzz.fuzz.findings.store import DATABASE, BadStore, Store
from relaxfuzz.fuzz.jobs.evidence import Evidence
from relaxfuzz.fuzz.process.targets import Origin, Recipe
from relaxfuzz.fuzz.system.disk_failure import DiskFailure
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.grades.consequence import Consequence, Effect, Where
from relaxfuzz.oracles.identity import FORMAT as IDENTITY_FORMAT
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.violation import Raised, Violation
from tests.fuzz.changed import changed

FINDING = Finding(
    violation=Violation(
        "InternalError: no",
        "the whole story",
        ("InternalError", "no"),
        "fuse_ops.cc:1",
        Trace(("Grouping::Run", "Grouping::Visit"), "it != end"),
        Raised("InternalError", "legalization", "my_passes.py:run"),
        oracle="crash",
        pass_name="FuseOps",
    ),
    module="{}",
    source="mod = None\n",
    calls=(PassCall("FuseOps(fuse_opt_level=2)", {"relax.FuseOps.max_depth": 4}, ("import re",)),),
    origin=Origin(7, 3, Stage.ANNOTATED, Recipe(disabled=(Trait.IF,))),
    versions={"tvm": "0.27.0"},
    confirmed=True,
    evidence=Evidence(
        ingredients=("If", "relax.take"),
        unknowns=("unknown shape",),
        retyped=("relax.take", "dtype"),
        inside="CanonicalizeBindings",
    ),
    consequence=Consequence(Effect.VALUES, Where.BUILD),
    made_of=("If", "relax.sort", "relax.take"),
    similar="the-bug (with relax.sort)",
)


def test_json_round_trip() -> None:
    named = dataclasses.replace(FINDING, first_id="0123456789")
    for finding in (FINDING, named):
        assert Finding.from_json(finding.to_json()) == finding


@pytest.mark.parametrize(
    ("name", "number"), [("format", FORMAT), ("identity_format", IDENTITY_FORMAT)]
)
def test_unknown_format_is_refused(name: str, number: int) -> None:
    text = FINDING.to_json().replace(f'"{name}": {number}', f'"{name}": 99')
    with pytest.raises(UnknownFormat, match=f" {name} {number} .* {name}=99; read it with"):
        Finding.from_json(text)


def test_id_depends_on_the_report_alone() -> None:
    same = changed(FINDING, title="t", module="[]", origin=None, versions={}, place="fuse_ops.cc:2")
    assert dataclasses.replace(same, evidence=None, made_of=(), similar="").id == FINDING.id
    trace = FINDING.violation.trace
    for fields in (
        {"key": ("x",)},
        {"oracle": "json"},
        {"pass_name": "FuseTIR"},
        {"trace": dataclasses.replace(trace, functions=trace.functions[:1])},
        {"trace": dataclasses.replace(trace, condition="n > 0")},
    ):
        assert changed(FINDING, **fields).id != FINDING.id, fields


def test_a_finding_keeps_the_id_that_it_was_found_with() -> None:
    named = dataclasses.replace(FINDING, first_id="0123456789")
    assert changed(named, key=("x",)).id == named.id == "0123456789"


def test_what_one_process_is_done_with_another_does_not_undo(tmp_path: Path) -> None:
    with Store(tmp_path) as store, Store(tmp_path, create=False, write=True) as other:
        store.publish(dataclasses.replace(FINDING, source="mod = 1\n"), "raise SystemExit(1)\n")
        other.put(FINDING)
        found = other.get(FINDING.id)
        assert found is not None
        assert (found.source, store.reproducer(found) is None) == ("mod = 1\n", False)
        assert store.module(found).read_text() == "mod = 1\n"
        elsewhere = dataclasses.replace(FINDING, versions={"tvm": "0.28.0"})
        other.put(elsewhere)
        assert store.get(FINDING.id) == elsewhere


def test_what_is_pending_stays_so_until_it_is_settled(tmp_path: Path) -> None:
    other = changed(FINDING, key=("other",))
    with Store(tmp_path) as store:
        for finding in (FINDING, other, FINDING):
            store.pend(finding)
    with Store(tmp_path) as store:
        assert {finding.id for finding in store.pending()} == {FINDING.id, other.id}
        store.settle(FINDING.id)
        assert store.pending() == [other]
        assert list(store.findings()) == []


def test_an_unrelated_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(BadStore, match="not empty"):
        Store(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_text("hello" * 100)
    with pytest.raises(BadStore, match="cannot use"):
        Store(tmp_path)


def test_store_of_another_format_is_refused(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(BadStore, match="format 99"):
        Store(tmp_path)


def test_what_was_put_survives_kill_9(tmp_path: Path) -> None:
    script = (
        "import dataclasses, os, signal, sys\n"
        "from pathlib import Path\n"
        "from relaxfuzz.fuzz.findings.finding import Finding\n"
        "from relaxfuzz.fuzz.findings.store import Store\n"
        "from tests.fuzz.changed import changed\n"
        "finding = Finding.from_json(sys.argv[2])\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for i in range(5):\n"
        "    store.publish(changed(finding, key=(str(i),)), 'text')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), FINDING.to_json()], env=environment
    )
    assert done.returncode == -signal.SIGKILL
    with Store(tmp_path) as store:
        findings = list(store.findings())
        assert sorted(each.violation.key for each in findings) == [(str(i),) for i in range(5)]
        assert all(store.reproducer(finding) is not None for finding in findings)


@pytest.mark.parametrize(
    ("somebody", "message"),
    [
        (lambda folder: shutil.rmtree(folder), "was removed"),
        (lambda folder: folder.rename(folder.with_name("elsewhere")), "was removed"),
        (lambda folder: replaced(folder), "was replaced"),
    ],
    ids=["removed", "renamed", "replaced"],
)
def test_a_store_that_is_taken_away_is_not_written_to(
    tmp_path: Path, somebody: Callable[[Path], object], message: str
) -> None:
    with Store(tmp_path / "out") as store:
        store.put(FINDING)
        somebody(store.folder)
        for write in (store.put, store.pend):
            with pytest.raises(DiskFailure, match=rf"findings\.sqlite': it {message} while"):
                write(FINDING)


def replaced(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    Store(folder).close()


def test_the_newest_unconfirmed_findings_stay(tmp_path: Path) -> None:
    """And all that are confirmed."""
    with Store(tmp_path) as store:
        store.put(FINDING)
        for number in range(5):
            store.put(changed(FINDING, oracle=f"oracle {number}", confirmed=False))
        assert store.forget_unconfirmed(2) == 3
        assert store.forget_unconfirmed(2) == 0
        kept = [each.oracle for each in store.findings(confirmed=False)]
        assert sorted(kept) == ["oracle 3", "oracle 4"]
        assert len(list(store.findings())) == 1
