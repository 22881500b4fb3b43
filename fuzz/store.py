"""Where findings are kept: a folder with a SQLite file that survives the death of any process."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from . import rows, runs
from .files import write_whole
from .finding import Finding
from .mistake import Mistake
from .rows import Rows
from .runs import Runs

APPLICATION_ID = 0x52465A31  # "RFZ1", in the SQLite header: tells our files from others'

DATABASE = "findings.sqlite"

SCHEMA_VERSION = 3
"""Of the tables. 1: findings only. 2: rows besides. 3: runs, and what is pending, besides. An
older store gets what it lacks when it is opened."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS findings (
    id TEXT PRIMARY KEY,
    pass TEXT NOT NULL,
    oracle TEXT NOT NULL,
    title TEXT NOT NULL,
    confirmed INTEGER NOT NULL,
    finding TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS pending (
    id TEXT PRIMARY KEY,
    finding TEXT NOT NULL
) STRICT;
"""


class BadStore(Mistake):
    """The folder cannot serve as a store; the text says why in one sentence."""


class Store:
    """Findings in a folder: `findings.sqlite`, `reproducers/*.py`, `modules/*.py`.

    Every change is on the disk (WAL, synchronous=FULL) when the method returns. Files are written
    before the row that names them, so that a row never names a file that is not whole.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        """Open the store in `folder`; make it where `create` is set.

        Raises:
            BadStore: not ours, not writable, not there, or written in an unknown format.
        """
        self.folder = folder
        database = folder / DATABASE
        if create:
            _prepare(folder)
        elif not database.is_file():
            raise BadStore(f"no findings in '{folder}': it has no {DATABASE}")
        fresh = not database.exists()
        try:
            self._db = sqlite3.connect(
                database, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA busy_timeout = 30000")
            if not fresh:
                self._check_header()
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("BEGIN IMMEDIATE")
            for statement in filter(str.strip, f"{SCHEMA}{rows.SCHEMA}{runs.SCHEMA}".split(";")):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise BadStore(f"cannot use '{database}' as a store of findings: {error}") from error
        self._lock = threading.RLock()
        self.rows = Rows(self._db, self._lock)
        """Which findings are one bug."""
        self.runs = Runs(self._db, self._lock)
        """What was done in this folder."""

    def _check_header(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == 0 and tables == 0:
            return  # a run was killed before it could write the header
        if application != APPLICATION_ID:
            raise BadStore(f"'{self.folder / DATABASE}' is not a file of relaxfuzz")
        if version not in range(1, SCHEMA_VERSION + 1):
            raise BadStore(
                f"'{self.folder / DATABASE}' has format {version}, "
                f"this relaxfuzz reads 1 to {SCHEMA_VERSION}"
            )

    def close(self) -> None:
        """Close the file; whatever was added is on the disk already."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def put(self, finding: Finding) -> None:
        """Add a finding, or replace the one with its id.

        Confirmed never becomes unconfirmed, and what has a reproducer never loses it on the same
        TVM: two processes may have found the same, and one of them is done with it.
        """
        known = self.get(finding.id)
        done = known is not None and known.reproducer is not None and finding.reproducer is None
        if done and known is not None and known.versions == finding.versions:
            return
        if finding.confirmed:
            path = self.module(finding)
            write_whole(path, finding.source or finding.module)
        with self._lock:  # in no transaction of another thread, which may be rolled back
            self._db.execute(
                "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " title = excluded.title, confirmed = excluded.confirmed,"
                " finding = excluded.finding WHERE excluded.confirmed >= findings.confirmed",
                (
                    finding.id,
                    finding.pass_name,
                    finding.oracle,
                    finding.title,
                    int(finding.confirmed),
                    finding.to_json(),
                ),
            )

    def publish(self, finding: Finding, reproducer: str) -> Finding:
        """Write a finding's files and then its row; returns it with the reproducer's file name."""
        name = file_name(finding)
        write_whole(self.folder / "reproducers" / name, reproducer)
        published = dataclasses.replace(finding, reproducer=name)
        self.put(published)
        return published

    def get(self, id: str) -> Finding | None:
        """The finding with this id, or None."""
        row = self._db.execute("SELECT finding FROM findings WHERE id = ?", (id,)).fetchone()
        return None if row is None else Finding.from_json(row[0])

    def findings(self, *, confirmed: bool = True) -> Iterator[Finding]:
        """All confirmed (or all unconfirmed) findings, ordered by pass, oracle and title.

        Raises:
            UnknownFormat: one was written in another format version.
        """
        rows = self._db.execute(
            "SELECT finding FROM findings WHERE confirmed = ? ORDER BY pass, oracle, title, id",
            (int(confirmed),),
        )
        for (text,) in rows.fetchall():
            yield Finding.from_json(text)

    def forget_unconfirmed(self, bytes: int) -> int:
        """Drop unconfirmed findings, the oldest first, until so many bytes are free; how many."""
        with self._lock:
            found = self._db.execute(
                "SELECT id, length(CAST(finding AS BLOB)) FROM findings WHERE NOT confirmed"
                " ORDER BY rowid"
            )
            chosen: list[tuple[str]] = []
            for id, length in found.fetchall():
                if bytes <= 0:
                    break
                chosen.append((id,))
                bytes -= length
            if chosen:
                self._db.executemany("DELETE FROM findings WHERE id = ? AND NOT confirmed", chosen)
                self._db.execute("VACUUM")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(chosen)

    # What waits for triage: a process that dies leaves it to the next one

    def pend(self, finding: Finding) -> None:
        """Note that somebody has to confirm this finding, and reduce and tell it."""
        with self._lock:
            self._db.execute(
                "INSERT OR REPLACE INTO pending VALUES (?, ?)", (finding.id, finding.to_json())
            )

    def settle(self, id: str) -> None:
        """It has been told, or did not come out again."""
        with self._lock:
            self._db.execute("DELETE FROM pending WHERE id = ?", (id,))

    def pending(self) -> list[Finding]:
        """What nobody has come to the end with, the oldest first.

        Raises:
            UnknownFormat: one was written in another format version.
        """
        with self._lock:
            found = self._db.execute("SELECT finding FROM pending ORDER BY rowid").fetchall()
        return [Finding.from_json(text) for (text,) in found]

    def module(self, finding: Finding) -> Path:
        """The path of the finding's module: source, or JSON where there is no source."""
        name = file_name(finding)
        return self.folder / "modules" / (name if finding.source else f"{name}.json")

    def reproducer(self, finding: Finding) -> Path | None:
        """The path of the finding's reproducer, or None where there is none (any more)."""
        if finding.reproducer is None:
            return None
        path = self.folder / "reproducers" / finding.reproducer
        return path if path.is_file() else None


def file_name(finding: Finding) -> str:
    """`<pass>-<oracle>-<id>.py`, safe on every file system."""
    stem = f"{finding.pass_name}-{finding.oracle}-{finding.id}"
    return re.sub(r"[^\w.-]+", "_", stem, flags=re.ASCII) + ".py"


def _prepare(folder: Path) -> None:
    """Make the folder, or refuse one that holds something else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        entries = {entry.name for entry in folder.iterdir()}
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadStore(f"cannot write to '{folder}': {error.strerror or error}") from error
    if entries and DATABASE not in entries:
        raise BadStore(
            f"'{folder}' is not empty and holds no {DATABASE}: relaxfuzz does not mix its findings "
            "with other files; choose another --out"
        )
