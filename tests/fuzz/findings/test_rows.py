"""Rows: merges by the rules and verdicts of people outlive everything."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.rows import BY_HAND, SAME, Rows
from relaxfuzz.fuzz.findings.store import DATABASE, SCHEMA, SCHEMA_VERSION, BadStore, Store
from relaxfuzz.oracles.identity import FailureKind, Identity
from relaxfuzz.oracles.violation import Violation
from tests.fuzz.changed import changed

FINDING = Finding(
    violation=Violation("InternalError: no", "", ("no",), oracle="crash", pass_name="FuseOps"),
    module="{}",
    source="mod = None\n",
    versions={"tvm": "0.27.0"},
    confirmed=True,
)


def needs(*ingredients: str) -> Identity:
    """Other values of a minimized module that consists of these."""
    return Identity(
        failure=FailureKind.VALUES,
        blamed=("FuseOps",),
        site=("other values",),
        ingredients=frozenset(ingredients),
    )


SHAPE, DTYPE = needs("unknown shape"), needs("unknown dtype")
ALONE = needs()
LARGE = dataclasses.replace(SHAPE, ingredients=None)


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Rows]:
    with Store(tmp_path) as store:
        yield store.rows


def together(rows: Rows) -> list[str]:
    """The findings of each row, each one's name a letter."""
    return ["".join(member.finding for member in row.members) for row in rows.all()]


def test_one_bug_is_one_row(rows: Rows) -> None:
    assert rows.enter("a", SHAPE) == "a"
    assert rows.enter("b", DTYPE) == "b"
    assert rows.enter("c", SHAPE) == "a"
    assert together(rows) == ["ac", "b"]
    first, other = rows.get("a").members
    assert (first.why, other.why) == ("", f"as a: {SAME}")


def test_a_finding_that_is_like_two_others_joins_their_rows(rows: Rows) -> None:
    """Both need the operator that it needs."""
    for name, *more in (("a", "If"), ("b", "Tuple"), ("c",)):
        rows.enter(name, needs("relax.take", *more))
    assert together(rows) == ["abc"]
    assert rows.of("b") == "a"


def test_what_a_smaller_module_shows_may_join_rows(rows: Rows) -> None:
    rows.enter("a", SHAPE)
    rows.enter("b", LARGE)
    assert together(rows) == ["a", "b"]
    assert rows.enter("b", SHAPE) == "a"
    # A finding that joined stays, though its module shows something else now.
    assert rows.enter("b", DTYPE) == "a"
    # It is what it shows now that others are compared with.
    assert rows.enter("c", DTYPE) == "a"


def test_a_large_module_with_all_that_a_bug_needs_is_presumed_to_show_it(rows: Rows) -> None:
    rows.enter("a", needs("If", "relax.take"))
    assert rows.enter("b", LARGE, ("If", "relax.sort")) == "b"
    assert rows.enter("c", LARGE, ("If", "relax.sort", "relax.take")) == "a"
    assert together(rows) == ["ac", "b"]


def test_it_does_not_matter_which_of_a_large_and_a_minimized_module_comes_first(
    rows: Rows,
) -> None:
    rows.enter("a", LARGE, ("relax.sort", "unknown shape"))
    assert rows.enter("b", SHAPE) == "a"
    assert together(rows) == ["ab"]


def test_an_identity_outlives_the_process(tmp_path: Path) -> None:
    """All that it consists of."""
    raised = Identity(
        failure=FailureKind.RAISES,
        blamed=("FuseOps", "FuseTIR"),
        site=("Grouping::Run", "Grouping::Visit"),
        condition="it != end",
    )
    with Store(tmp_path) as store:
        store.rows.enter("a", raised)
        store.rows.enter("b", dataclasses.replace(SHAPE, how="x"))
    with Store(tmp_path) as store:
        assert store.rows.enter("c", raised) == "a"
        assert store.rows.enter("d", dataclasses.replace(raised, condition="n > 0")) == "d"
        assert store.rows.enter("e", dataclasses.replace(SHAPE, how="x")) == "b"
        assert store.rows.enter("f", SHAPE) == "f"


def test_a_split_stays(rows: Rows) -> None:
    for name in "abc":
        rows.enter(name, SHAPE)
    assert rows.split("b") == "b"
    assert together(rows) == ["ac", "b"]
    rows.enter("b", SHAPE)
    assert rows.enter("d", SHAPE) == "a"
    assert together(rows) == ["acd", "b"]


def test_the_first_of_a_row_can_be_split_off(rows: Rows) -> None:
    for name in "abc":
        rows.enter(name, SHAPE)
    rows.judge("a", verdict="true", note="seen")
    assert rows.split("a") == "a"
    assert together(rows) == ["a", "bc"]
    left = rows.get("b")
    assert (left.verdict, left.note) == ("true", "seen")
    assert rows.get("a").verdict is None
    assert rows.enter("a", SHAPE) == "a"
    assert together(rows) == ["a", "bc"]


def test_alone_is_no_row_to_split(rows: Rows) -> None:
    rows.enter("a", ALONE)
    assert rows.split("a") == "a"
    assert together(rows) == ["a"]


def test_merged_by_hand_stays_together(rows: Rows) -> None:
    rows.enter("a", SHAPE)
    rows.enter("b", DTYPE)
    rows.judge("b", verdict="wontfix", note="by design")
    rows.merge("a", ["b"])
    assert rows.get("a").members[1].why == BY_HAND
    assert (rows.get("a").verdict, rows.get("a").note) == ("wontfix", "by design")
    assert rows.enter("c", DTYPE) == "a"
    rows.enter("b", ALONE)
    assert together(rows) == ["abc"]


def test_people_may_change_their_mind(rows: Rows) -> None:
    rows.enter("a", SHAPE)
    rows.enter("b", SHAPE)
    rows.split("b")
    rows.merge("a", ["b"])
    assert together(rows) == ["ab"]
    assert rows.enter("c", SHAPE) == "a"
    rows.judge("a", verdict="true", note="seen")
    rows.judge("a", verdict="")
    assert (rows.get("a").verdict, rows.get("a").note) == (None, "seen")


def test_it_is_all_there_when_the_store_is_reopened(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for name in "abc":
            store.rows.enter(name, SHAPE)
        store.rows.split("b")
        store.rows.judge("a", verdict="true", note="n")
        before = store.rows.all()
    with Store(tmp_path, create=False) as store:
        assert store.rows.all() == before
    with Store(tmp_path, create=False, write=True) as store:
        assert store.rows.enter("b", SHAPE) == "b"


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
@pytest.mark.parametrize(
    "options", [{"create": False}, {"create": False, "write": True}, {"create": True}], ids=str
)
def test_a_store_of_older_tables_is_refused_with_the_command_that_renews_it(
    tmp_path: Path, version: int, options: dict[str, bool]
) -> None:
    Store(tmp_path).close()
    with contextlib.closing(sqlite3.connect(tmp_path / DATABASE)) as old:
        old.execute(f"PRAGMA user_version = {version}")
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(BadStore) as refused:
        Store(tmp_path, **options)
    assert str(refused.value) == (
        f"'{tmp_path / DATABASE}' has format {version}, this relaxfuzz reads {SCHEMA_VERSION}; "
        f"`relaxfuzz known --renew '{tmp_path}'` makes it anew"
    )
    assert (tmp_path / DATABASE).read_bytes() == before


def test_a_store_without_rows_gets_them(tmp_path: Path) -> None:
    """Whoever only reads it keeps them in memory."""
    with Store(tmp_path) as store:
        application = store._db.execute("PRAGMA application_id").fetchone()[0]
    (tmp_path / DATABASE).unlink()
    old = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    old.executescript(SCHEMA)
    old.execute(f"PRAGMA application_id = {application}")
    old.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    values = (FINDING.id, "FuseOps", "crash", FINDING.title, 1, FINDING.to_json())
    old.execute("INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?)", values)
    old.close()
    before = (tmp_path / DATABASE).read_bytes()
    with Store(tmp_path, create=False) as store:
        assert list(store.findings()) == [FINDING]
        assert store.rows.all() == []
        store.set_aside()
        assert store.rows.enter(FINDING.id, SHAPE) == FINDING.id
        assert store.rows.enter("other", SHAPE) == FINDING.id
    assert (tmp_path / DATABASE).read_bytes() == before
    with Store(tmp_path, create=False, write=True) as store:
        assert store.rows.all() == []
        assert store.rows.enter(FINDING.id, SHAPE) == FINDING.id
    with Store(tmp_path) as store:
        assert store.rows.of(FINDING.id) == FINDING.id


def test_who_only_reads_may_join_rows_that_are_written(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.rows.enter("a", SHAPE)
        store.rows.judge("a", verdict="true")
    with Store(tmp_path, create=False) as store:
        store.set_aside()
        assert store.rows.enter("b", SHAPE) == "a"
        assert (together(store.rows), store.rows.get("a").verdict) == (["ab"], "true")
    with Store(tmp_path) as store:
        assert together(store.rows) == ["a"]


KILLED = """
import sys
from pathlib import Path
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.oracles.identity import FailureKind, Identity

with Store(Path(sys.argv[1])) as store:
    for number in range(100_000):
        name = f"f{number}"
        blamed = (str(number // 2),)
        paired = Identity(failure=FailureKind.FORM, blamed=blamed, ingredients=frozenset())
        store.rows.enter(name, paired)
        print(name, flush=True)
"""


def test_killed_at_any_moment_no_row_is_half(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        printed = [next(writer.stdout).strip() for _ in range(25)]
        os.kill(writer.pid, signal.SIGKILL)
        printed += writer.stdout.read().split("\n")[:-1]  # the last line may be half
    with Store(tmp_path, create=False) as store:
        rows = store.rows.all()
        assert all(store.rows.of(name) is not None for name in printed)
        assert all(len(row.members) == 2 for row in rows[:-1])


def test_findings_of_several_threads_do_not_mix(tmp_path: Path) -> None:
    with Store(tmp_path) as store:

        def enter(number: int) -> None:
            store.put(changed(FINDING, key=(str(number),)))
            store.rows.enter(str(number), needs(f"attribute {number % 3}"))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(enter, range(30)))
        assert sorted(len(row.members) for row in store.rows.all()) == [10, 10, 10]
        assert len(list(store.findings())) == 30
