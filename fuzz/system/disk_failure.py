"""A disk that gives way under a store: full, gone read-only, or gone, as files may be that somebody
removes. It is nobody's mistake."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..user_input.mistake import Told


class DiskFailure(Told, sqlite3.OperationalError):
    """What has to be kept cannot be written any more; says where, and why.

    What was written before is whole. Whoever meets it ends: what it could not write is pending in
    the store, or was found in a block that is done again by whoever goes on.
    """


_CODES = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_BUSY,
    }
)
"""Primary codes of errors that say nothing against the file."""

_NUMBERS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE})


@contextmanager
def watched(what: Path | str | None = None) -> Iterator[None]:
    """Errors of the disk in here are told as such.

    Args:
        what: was to be written, where the error itself does not name it.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, DiskFailure) or not is_lost(error):
            raise
        name = getattr(error, "filename", None) or what
        named = "" if name is None else f" '{name}'"
        raise DiskFailure(f"cannot write{named}: {getattr(error, 'strerror', error)}") from error


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, on the disk at the end."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # else SQLite has rolled it back itself, as where the disk is full
            db.execute("ROLLBACK")
        raise


def is_lost(error: Exception) -> bool:
    """It is the disk that failed."""
    if isinstance(error, OSError):
        return error.errno in _NUMBERS
    # The lowest byte is the primary code; the rest says more exactly what happened.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return isinstance(error, DiskFailure) or code & 0xFF in _CODES


class Connection(sqlite3.Connection):
    """Tells what the disk refuses from what is wrong with the file, or with us."""

    def __init__(self, database: Any, *args: Any, **named: Any) -> None:
        super().__init__(database, *args, **named)
        self._name = unquote(str(database).removeprefix("file:").partition("?")[0])
        self._file: tuple[int, int] | None = None
        """Device and inode: what is written to a file that was removed is in no folder."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """See `sqlite3.Connection`.

        Raises:
            DiskFailure: see there.
        """
        with watched(self._name):
            self._see()
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """See `execute`."""
        with watched(self._name):
            self._see()
            return super().executemany(*arguments)

    def _see(self) -> None:
        """That the file is still there, before something begins."""
        if self.in_transaction:
            return
        try:
            about = os.stat(self._name)
        except FileNotFoundError:
            now = None
        else:
            now = about.st_dev, about.st_ino
        if self._file is not None and now != self._file:
            gone = "was removed" if now is None else "was replaced"
            raise DiskFailure(f"cannot write '{self._name}': it {gone} while it was in use")
        self._file = now
