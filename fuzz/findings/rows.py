"""Rows: findings that are one bug, joined by rules or by people, with a verdict and a note."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...oracles.identity import Identity, Sameness, compare, is_presumed
from ..system.disk_failure import transaction
from ..system.serialize import plain, typed

SCHEMA = """
CREATE TABLE IF NOT EXISTS members (
    finding TEXT PRIMARY KEY,
    row TEXT NOT NULL,
    why TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS members_by_row ON members (row);
CREATE TABLE IF NOT EXISTS identities (
    finding TEXT PRIMARY KEY,
    identity TEXT NOT NULL,
    made_of TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS apart (
    one TEXT NOT NULL,
    other TEXT NOT NULL,
    PRIMARY KEY (one, other)
) STRICT;
CREATE TABLE IF NOT EXISTS judgements (
    row TEXT PRIMARY KEY,
    verdict TEXT,
    note TEXT
) STRICT;
"""

TABLES = frozenset({"members", "identities", "apart", "judgements"})

BY_HAND = "merged by hand"


SAME = "failure, blamed, site and ingredients agree"
"""The reason why a rule puts two findings in one row."""


@dataclass(frozen=True, slots=True)
class Member:
    """A finding in a row."""

    finding: str
    why: str
    """Reason why the finding is in this row, with the id of the finding it resembles. Empty for the
    first finding of the row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One bug, with all its reports."""

    id: str
    """The id of one of its findings: the first one, unless that was split off."""
    members: tuple[Member, ...]
    """The findings in it, in order of arrival."""
    verdict: str | None = None
    note: str | None = None


class Rows:
    """The rows of a store.

    Human decisions are final: rules never split rows that were merged by hand, and a finding that
    was split off never rejoins its former row.
    """

    def __init__(self, db: sqlite3.Connection, lock: threading.RLock) -> None:
        self._db = db
        self._lock = lock

    def enter(
        self, finding: str, identity: Identity, made_of: Collection[str] | None = None
    ) -> str:
        """Put a finding in its row, and merge rows that it shows to be one; return the row's id.

        A finding that already has a row stays in it. The later reduction of its module may show
        that another row is the same.

        Args:
            made_of: the ingredients of its module, until that is minimized.
        """
        with self._change():
            if self.of(finding) is None:
                self._db.execute("INSERT INTO members VALUES (?, ?, '')", (finding, finding))
            for other, its, of_other in self._identities():
                alike = (
                    compare(its, identity) is Sameness.SAME
                    or (made_of is not None and is_presumed(its, identity, made_of))
                    or (of_other is not None and is_presumed(identity, its, of_other))
                )
                if other != finding and alike:
                    self._join(finding, other, SAME)
            self._db.execute(
                "INSERT OR REPLACE INTO identities VALUES (?, ?, ?)",
                (finding, json.dumps(plain(identity)), json.dumps(plain(made_of))),
            )
            return self._row(finding)

    def _identities(self) -> Iterator[tuple[str, Identity, tuple[str, ...] | None]]:
        found = self._db.execute("SELECT finding, identity, made_of FROM identities ORDER BY rowid")
        for finding, text, made_of in found.fetchall():
            ingredients = typed(json.loads(made_of), tuple[str, ...] | None)
            yield finding, typed(json.loads(text), Identity), ingredients

    def of(self, finding: str) -> str | None:
        """The id of the row that holds a finding; None if no rule has examined it yet."""
        with self._lock:
            found = self._db.execute(
                "SELECT row FROM members WHERE finding = ?", (finding,)
            ).fetchone()
            return None if found is None else str(found[0])

    def get(self, id: str) -> Row:
        """The row with this id, which must exist."""
        with self._lock:
            members = self._db.execute(
                "SELECT finding, why FROM members WHERE row = ? ORDER BY rowid", (id,)
            ).fetchall()
            judged = self._db.execute(
                "SELECT verdict, note FROM judgements WHERE row = ?", (id,)
            ).fetchone()
        assert members, id
        return Row(id, tuple(Member(*member) for member in members), *(judged or (None, None)))

    def all(self) -> list[Row]:
        """Every row, in order of arrival."""
        with self._lock:
            ids = self._db.execute("SELECT row FROM members GROUP BY row ORDER BY min(rowid)")
            return [self.get(id) for (id,) in ids.fetchall()]

    def apart(self) -> list[tuple[str, str]]:
        """The pairs of rows that people declared separate bugs."""
        with self._lock:
            return self._db.execute("SELECT one, other FROM apart ORDER BY rowid").fetchall()

    # Human decisions

    def keep_apart(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Declare these rows separate bugs, permanently; they may come later."""
        with self._change():
            self._db.executemany("INSERT OR IGNORE INTO apart VALUES (?, ?)", pairs)

    def merge(self, into: str, others: Iterable[str]) -> None:
        """Declare these rows one bug, permanently, even if they were split before."""
        with self._change():
            for other in others:
                self._db.execute(
                    "DELETE FROM apart WHERE (one, other) IN ((?, ?), (?, ?))",
                    (into, other, other, into),
                )
                self._unite(into, other, BY_HAND)

    def split(self, finding: str) -> str:
        """Declare a finding a separate bug, permanently; return the id of its new row.

        The judgement stays with the others. A finding that is already alone stays unchanged.
        """
        with self._change():
            row = self._row(finding)
            rest = [m for m in self.get(row).members if m.finding != finding]
            if not rest:
                return row
            if row == finding:  # the row takes the id of the next finding
                new = rest[0].finding
                self._db.execute("UPDATE members SET row = ? WHERE row = ?", (new, row))
                self._db.execute("UPDATE judgements SET row = ? WHERE row = ?", (new, row))
                self._db.execute("UPDATE members SET why = '' WHERE finding = ?", (new,))
                self._rename_splits(row, new)
                row = new
            self._db.execute(
                "UPDATE members SET row = ?, why = '' WHERE finding = ?", (finding, finding)
            )
            self._db.execute("INSERT OR IGNORE INTO apart VALUES (?, ?)", (finding, row))
            return finding

    def judge(self, id: str, *, verdict: str | None = None, note: str | None = None) -> None:
        """Set the verdict or note of a row; None leaves it unchanged, an empty text removes it."""
        with self._change():
            self._db.execute("INSERT OR IGNORE INTO judgements VALUES (?, NULL, NULL)", (id,))
            for column, text in (("verdict", verdict), ("note", note)):
                if text is not None:
                    self._db.execute(
                        f"UPDATE judgements SET {column} = ? WHERE row = ?", (text or None, id)
                    )

    # Parts

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Make changes in one transaction, which is on the disk at the end."""
        with self._lock, transaction(self._db):
            yield

    def _row(self, finding: str) -> str:
        row = self.of(finding)
        assert row is not None, finding
        return row

    def _join(self, finding: str, other: str, reason: str) -> None:
        mine, its = self.of(finding), self.of(other)
        if mine is None or its is None or mine == its or self._are_split(mine, its):
            return
        if self._age(mine) < self._age(its):
            self._unite(mine, its, f"as {finding}: {reason}")
        else:
            self._unite(its, mine, f"as {other}: {reason}")

    def _unite(self, into: str, other: str, why: str) -> None:
        """Move the members of a row to another one, which keeps its name; judgements are kept."""
        if into == other:
            return
        self._db.execute(
            "UPDATE members SET why = CASE WHEN why = '' THEN ? ELSE why END, row = ?"
            " WHERE row = ?",
            (why, into, other),
        )
        ours, theirs = (
            self._db.execute("SELECT verdict, note FROM judgements WHERE row = ?", (id,)).fetchone()
            or (None, None)
            for id in (into, other)
        )
        self._db.execute("DELETE FROM judgements WHERE row IN (?, ?)", (into, other))
        notes = "\n".join(filter(None, (ours[1], theirs[1]))) or None
        self._db.execute(
            "INSERT INTO judgements VALUES (?, ?, ?)", (into, ours[0] or theirs[0], notes)
        )
        self._rename_splits(other, into)

    def _rename_splits(self, old: str, new: str) -> None:
        self._db.execute("UPDATE OR IGNORE apart SET one = ? WHERE one = ?", (new, old))
        self._db.execute("UPDATE OR IGNORE apart SET other = ? WHERE other = ?", (new, old))
        self._db.execute("DELETE FROM apart WHERE ? IN (one, other) OR one = other", (old,))

    def _are_split(self, one: str, other: str) -> bool:
        found = self._db.execute(
            "SELECT 1 FROM apart WHERE (one, other) IN ((?, ?), (?, ?))", (one, other, other, one)
        )
        return found.fetchone() is not None

    def _age(self, row: str) -> int:
        found = self._db.execute("SELECT min(rowid) FROM members WHERE row = ?", (row,))
        return int(found.fetchone()[0])
