"""The store of findings: a folder with a SQLite file that survives the death of any process."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...compat import weights
from ..output.readable import sentence
from ..system.database import BadDatabase, check, readable, tables, writable
from ..system.disk_failure import transaction, watched
from ..system.errors import UserError
from ..system.files import write_whole
from . import rows, runs
from .finding import BadFinding, Finding
from .listed import DATABASE, reproducer_in
from .rows import Rows
from .runs import Runs

APPLICATION_ID = 0x52465A31  # "RFZ1", in the SQLite header: marks our files

SCHEMA_VERSION = 8
"""Version of the tables; stores with another one are refused."""

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


FOLDERS = ("reproducers", "modules")
"""The folders beside the database."""

LONGEST_NAME = 200
"""Most characters of a file name, without its suffix."""

LONGEST_ID = 32
"""Most characters of an id in it; an id in a damaged store may have any number."""

_SCHEMAS = f"{SCHEMA}{rows.SCHEMA}{runs.SCHEMA}"

_TABLES = {
    name: statement.replace("TABLE IF NOT EXISTS", "TEMP TABLE")
    for statement in _SCHEMAS.split(";")
    for name in re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", statement)
}
"""The statement that creates each table in memory, by name."""


class BadStore(UserError):
    """The folder cannot serve as a store, for the reason in the message."""


class Store:
    """Findings in a folder: `findings.sqlite`, `reproducers/*.py`, `modules/*.py`.

    Every change is on the disk (WAL, synchronous=FULL) when the method returns. Files are written
    before the row that names them, so that a row never names an incomplete file.
    """

    def __init__(self, folder: Path, *, create: bool = True, write: bool = False) -> None:
        """Open the store in `folder`; create it if `create` is set.

        Without `create` and `write` it is only read: nothing in the folder changes, not even a
        store with an older schema. Changes of its rows are only kept in memory.

        Args:
            write: change an existing store.

        Raises:
            BadStore: the store is not ours, not writable, missing, damaged, or in an unknown
                format.
        """
        self.folder = folder
        self.unread: dict[str, str] = {}
        """The reasons why findings could not be read, by id."""
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._reads = not create and not write
        database = folder / DATABASE
        try:
            if create:
                _prepare(folder)
            elif not database.is_file():
                raise BadStore(f"no findings in '{folder}': it has no {DATABASE}")
            if self._reads:
                self._db, self._copy = readable(database)
            else:
                # Files are written into the folder, never to the target of a link in it.
                for name in FOLDERS:
                    path = folder / name
                    if path.is_symlink() or (path.exists() and not path.is_dir()):
                        raise BadStore(
                            f"cannot write to '{folder}': '{name}' in it is no folder of its own"
                        )
                self._db = writable(database)
            try:
                self._open()
            except BaseException:
                self.close()
                raise
        except (BadDatabase, ValueError) as error:
            raise BadStore(f"cannot use '{database}' as a store of findings: it {error}") from None
        except (sqlite3.Error, OSError) as error:
            raise BadStore(f"cannot use '{database}' as a store of findings: {error}") from error
        self._lock = threading.RLock()
        self.rows = Rows(self._db, self._lock)
        """Rows: all findings of one bug share a row."""
        self.runs = Runs(self._db, self._lock)
        """The runs in this folder."""
        weights.use(folder / weights.FOLDER)

    def _open(self) -> None:
        """Check that the file is ours and whole, and create missing tables."""
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        # A run that is killed before it could write the header leaves an empty file.
        if application != APPLICATION_ID and (application != 0 or tables(self._db)):
            raise BadStore(f"'{self.folder / DATABASE}' is not a file of relaxfuzz")
        if application and version != SCHEMA_VERSION:
            raise BadStore(
                f"'{self.folder / DATABASE}' has format {version}, "
                f"this relaxfuzz reads {SCHEMA_VERSION}; choose another --out"
            )
        check(self._db, _SCHEMAS)
        if self._reads:
            self._make_aside(_TABLES.keys() - tables(self._db))
            return
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        for statement in filter(str.strip, _SCHEMAS.split(";")):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._db.execute("COMMIT")

    def set_aside(self) -> None:
        """Keep changes of rows in memory from now on, if the store is read-only."""
        if self._reads:
            aside = {name for (name,) in self._db.execute("SELECT name FROM temp.sqlite_master")}
            self._make_aside(rows.TABLES - aside, filled=True)

    def _make_aside(self, names: Iterable[str], *, filled: bool = False) -> None:
        """Create tables in memory, which take precedence over those of the file."""
        for name in sorted(names):
            self._db.execute(_TABLES[name])
            if filled:
                self._db.execute(
                    f"INSERT INTO temp.{name} SELECT * FROM main.{name} ORDER BY rowid"
                )

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Make the changes of the context together: all of them, or none if it raises."""
        with self._lock, watched(self.folder), transaction(self._db):
            yield

    def close(self) -> None:
        """Close the file; everything that was added is already on the disk."""
        self._db.close()
        if self._copy is not None:
            self._copy.cleanup()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()
        if self._reads and isinstance(error, sqlite3.Error):
            # The file may have vanished or changed meanwhile.
            raise BadStore(f"cannot read '{self.folder / DATABASE}': {error}") from None

    def put(self, finding: Finding, files: Mapping[Path, str] = {}) -> None:
        """Add a finding, or replace the one with its id.

        A confirmed finding never becomes unconfirmed. A finding with a reproducer never loses it on
        the same TVM, since two processes may find the same bug and one may be done with it.

        Args:
            files: the texts of its files, which are written first.
        """
        # One transaction covers files and row, so that both come from the same writer.
        with self._lock, watched(self.folder), transaction(self._db):
            known = self.get(finding.id)
            done = known is not None and known.reproducer is not None and finding.reproducer is None
            if done and known is not None and known.versions == finding.versions:
                return
            if finding.confirmed:
                files = {**files, self.module(finding): _text(finding)}
            for path, text in files.items():
                write_whole(path, text)
            self._db.execute(
                "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " title = excluded.title, confirmed = excluded.confirmed,"
                " finding = excluded.finding WHERE excluded.confirmed >= findings.confirmed",
                (
                    finding.id,
                    *map(_utf8, (finding.pass_name, finding.oracle, finding.title)),
                    int(finding.confirmed),
                    finding.to_json(),
                ),
            )

    def publish(self, finding: Finding, reproducer: str) -> Finding:
        """Write a finding's files and then its row; return it with the reproducer's file name."""
        name = file_name(finding)
        published = dataclasses.replace(finding, reproducer=name)
        self.put(published, {self.folder / "reproducers" / name: reproducer})
        return published

    def get(self, id: str) -> Finding | None:
        """The finding with this id; None if there is none, or it cannot be read."""
        return self._read(id, "SELECT finding FROM findings WHERE id = ?", id)

    def findings(self, *, confirmed: bool = True) -> Iterator[Finding]:
        """All confirmed (or all unconfirmed) findings, ordered by pass, oracle and title.

        Findings that cannot be read are left out, and noted in `unread`.
        """
        order = []
        for (number,) in self._db.execute(
            "SELECT rowid FROM findings WHERE confirmed = ?", (int(confirmed),)
        ).fetchall():
            query = "SELECT pass, oracle, substr(title, 1, 1000), id FROM findings WHERE rowid = ?"
            try:
                row = self._db.execute(query, (number,)).fetchone()
            except sqlite3.DataError as error:
                self.unread[f"row {number}"] = str(error)
                continue
            if row is not None:  # otherwise it was dropped meanwhile
                order.append((*row, number))
        for *_, id, number in sorted(order):
            finding = self._read(id, "SELECT finding FROM findings WHERE rowid = ?", number)
            if finding is not None:
                yield finding

    def _read(self, id: str, query: str, key: str | int) -> Finding | None:
        try:
            row = self._db.execute(query, (key,)).fetchone()
            return None if row is None else Finding.from_json(row[0])
        except (BadFinding, sqlite3.DataError) as error:
            self.unread[id] = str(error)
            return None

    @property
    def complaint(self) -> str:
        """One sentence on requested findings and runs that could not be read; or empty."""
        found = {**self.unread, **{f"run {id}": why for id, why in self.runs.unread.items()}}
        if not found:
            return ""
        id, why = next(iter(found.items()))
        return sentence(
            f"left out of '{self.folder}', for it cannot be read: {id}: {why}"
            + (f"; and {len(found) - 1} more" if len(found) > 1 else "")
        )

    def forget_unconfirmed(self, most: int) -> int:
        """Drop the oldest unconfirmed findings beyond this number; return the number dropped."""
        with self._lock:
            gone = self._db.execute(
                "DELETE FROM findings WHERE id IN (SELECT id FROM findings WHERE NOT confirmed"
                " ORDER BY rowid DESC LIMIT -1 OFFSET ?)",
                (most,),
            ).rowcount
            if gone:
                self._db.execute("VACUUM")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    # Findings that wait for triage: a process that dies leaves them to the next one

    def pend(self, finding: Finding) -> None:
        """Note that this finding has yet to be confirmed, reduced and reported."""
        with self._lock:
            self._db.execute(
                "INSERT OR REPLACE INTO pending VALUES (?, ?)", (finding.id, finding.to_json())
            )

    def settle(self, id: str) -> None:
        """Note that a finding has been reported, or was not confirmed."""
        with self._lock:
            self._db.execute("DELETE FROM pending WHERE id = ?", (id,))

    def pending(self) -> list[Finding]:
        """Findings whose triage has not ended, oldest first; see `findings`."""
        query = "SELECT finding FROM pending WHERE id = ?"
        with self._lock:
            ids = self._db.execute("SELECT id FROM pending ORDER BY rowid").fetchall()
            found = [self._read(id, query, id) for (id,) in ids]
        return [finding for finding in found if finding is not None]

    def sweep(self) -> None:
        """Remove the large constants that no finding needs any more."""
        query = "SELECT finding FROM findings UNION ALL SELECT finding FROM pending"
        with self._lock:
            texts = (text for (text,) in self._db.execute(query))
            weights.sweep(self.folder / weights.FOLDER, texts)

    def module(self, finding: Finding) -> Path:
        """The path of the finding's module: source, or JSON if there is no source."""
        name = file_name(finding)
        return self.folder / "modules" / (name if finding.source else f"{name}.json")

    def keep_module(self, finding: Finding) -> Path:
        """Write the module of an unconfirmed finding to a file; return its path."""
        path = self.module(finding)
        write_whole(path, _text(finding))
        return path

    def reproducer(self, finding: Finding) -> Path | None:
        """The path of the finding's reproducer; see `reproducer_in`."""
        return reproducer_in(self.folder, finding.reproducer)


def file_name(finding: Finding) -> str:
    """The file name `<pass>-<oracle>-<id>.py`, safe on every file system."""
    stem = f"{finding.pass_name}-{finding.oracle}-{finding.id}"
    safe = re.sub(r"[^\w.-]+", "_", stem, flags=re.ASCII)
    end = f"-{finding.id[:LONGEST_ID]}" if len(safe) > LONGEST_NAME else ""
    return f"{safe[:LONGEST_NAME]}{end}.py"


def _text(finding: Finding) -> str:
    """The module of a finding as a file: source, or JSON if there is no source."""
    return finding.source or weights.whole(finding.module)


def _utf8(text: str) -> str:
    """Replace lone surrogates, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _prepare(folder: Path) -> None:
    """Create the folder, or refuse one that contains other things."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        entries = {entry.name for entry in folder.iterdir()}
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadStore(f"cannot write to '{folder}': {error.strerror or error}") from error
    # A command may have read a module, and large constants with it, before it opens its store.
    if entries - {weights.FOLDER} and DATABASE not in entries:
        raise BadStore(
            f"'{folder}' is not empty and holds no {DATABASE}: relaxfuzz does not mix its findings "
            "with other files; choose another --out"
        )
