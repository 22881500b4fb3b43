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
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.rows import BY_HAND, SAME, Rows
from relaxfuzz.fuzz.findings.store import DATABASE, SCHEMA_VERSION, BadStore, Store
from relaxfuzz.oracles.identity import FailureKind, Identity


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


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
@pytest.mark.parametrize(
    "options", [{"create": False}, {"create": False, "write": True}, {"create": True}], ids=str
)
def test_a_store_of_older_tables_is_refused(
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
        "choose another --out"
    )
    assert (tmp_path / DATABASE).read_bytes() == before


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
