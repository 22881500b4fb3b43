"""SQLite files of unknown origin, opened purely as data.

Active content of a database (triggers, views, functions in its schema, a journal that names other
files, links to other places) is refused before anything is read. Reading changes nothing on the
disk. Opening a file detects damage, in a time bounded by the file's size.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from .disk_failure import StoreConnection

WAIT = 30.0
"""Seconds to wait for a lock on the file."""

OPENING = 120.0
"""Seconds that the check of a file may take."""

LONGEST = 256_000_000
"""Bytes of the longest value that is read."""

_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""End of a journal that names another file, which SQLite might delete; see its file format, 3."""


class BadDatabase(Exception):
    """The file cannot be used; the text is a predicate of the file's name."""


def readable(database: Path) -> tuple[sqlite3.Connection, tempfile.TemporaryDirectory[str] | None]:
    """Return a connection for reading, and the temporary copy that it reads, if it needs one.

    While another process works with the file, a write-ahead log lies beside it. SQLite then has to
    write there even to read; if it cannot, file and log are copied. Without a log the file is
    complete, and nothing is created beside it. (A process that starts to write at that moment may
    disturb the read, which is reported as damage.)

    Raises:
        BadDatabase: the database, or a file of SQLite's beside it, is not a regular file.
        sqlite3.Error: it cannot be opened.
    """
    _ordinary(database)
    log = _beside(database, "wal")
    if not log.exists():
        return _connected(database, "?immutable=1"), None
    if os.access(database.parent, os.W_OK) and not _on_read_only_disk(database.parent):
        return _connected(database, "?mode=ro"), None
    if not log.stat().st_size:
        return _connected(database, "?immutable=1"), None
    copy = tempfile.TemporaryDirectory(prefix="relaxfuzz-store-")
    for each in (database, log):
        shutil.copyfile(each, Path(copy.name) / each.name)
    return _connected(Path(copy.name) / database.name, ""), copy


def writable(database: Path) -> sqlite3.Connection:
    """Return a connection for reading and writing; a missing file is created.

    Raises:
        BadDatabase: see `readable`.
        sqlite3.Error: it cannot be opened.
    """
    if database.exists() or database.is_symlink():
        _ordinary(database)
    journal = _beside(database, "journal")
    if journal.exists() and _ends_with(journal, _SUPER_JOURNAL):
        raise BadDatabase(f"has a journal beside it, '{journal.name}', that names another file")
    return _connected(database, "?mode=rwc", longest=None)


def check(db: sqlite3.Connection, schema: str) -> None:
    """Check that a database holds tables of this schema and nothing else, and is not damaged.

    Raises:
        BadDatabase: one of these is not true.
        sqlite3.Error: it is so damaged that nothing can be read.
    """
    with _time_limit(db):
        expected = _objects(schema)
        for kind, name, _, sql in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
            statistics = kind == "table" and str(name).startswith("sqlite_stat")
            if not statistics and expected.get(name) != (kind, _words(sql)):
                raise BadDatabase(
                    f"holds the {kind} {name!r:.80}, which no version of relaxfuzz creates"
                )
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise BadDatabase(f"is damaged: {verdict.splitlines()[-1]}")


def tables(db: sqlite3.Connection) -> set[str]:
    """The names of the tables of a database."""
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _connected(
    database: Path, parameters: str, longest: int | None = LONGEST
) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(database.absolute()))}{parameters}",
        uri=True,
        timeout=WAIT,
        isolation_level=None,
        check_same_thread=False,
        factory=StoreConnection,
    )
    db.text_factory = lambda text: text.decode("utf-8", "replace")
    if longest is not None:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    for pragma in (
        f"busy_timeout = {round(WAIT * 1000)}",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "mmap_size = 0",
        "temp_store = MEMORY",
    ):
        db.execute(f"PRAGMA {pragma}")
    return db


def _ordinary(database: Path) -> None:
    """Refuse links, which lead elsewhere, and pipes, which block."""
    for path in (database, *(_beside(database, name) for name in ("wal", "shm", "journal"))):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode):
            what = "a link" if stat.S_ISLNK(mode) else "not a regular file"
            raise BadDatabase("is " + what if path == database else f"has '{path.name}', {what}")


def _beside(database: Path, name: str) -> Path:
    return database.with_name(f"{database.name}-{name}")


def _ends_with(path: Path, end: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(-min(len(end), path.stat().st_size), os.SEEK_END)
        return file.read() == end


def _on_read_only_disk(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _objects(schema: str) -> dict[str, tuple[str, str]]:
    """The objects that SQLite creates for a schema, by name."""
    db = sqlite3.connect(":memory:")
    try:
        db.executescript(schema)
        found = db.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
    finally:
        db.close()
    return {name: (kind, _words(sql)) for name, kind, sql in found}


def _words(sql: object) -> str:
    return re.sub(r"\s+", " ", sql) if isinstance(sql, str) else ""


@contextmanager
def _time_limit(db: sqlite3.Connection) -> Iterator[None]:
    latest = time.monotonic() + OPENING
    db.set_progress_handler(lambda: time.monotonic() > latest, 100_000)
    try:
        yield
    finally:
        db.set_progress_handler(None, 0)
