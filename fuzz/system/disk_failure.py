"""Failures of the disk under a store: it is full, read-only or gone, or a file was removed.

They are neither the user's mistake nor a defect of relaxfuzz.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from .errors import RelaxfuzzError


class DiskFailure(RelaxfuzzError, sqlite3.OperationalError):
    """A file of a store cannot be written; the text says which file, and why.

    Earlier writes are complete, and the command ends. Anything not written is pending in the store,
    or lost with its block.
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
"""Primary codes of errors that are not about the content of the file."""

_NUMBERS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE})


@contextmanager
def watched(what: Path | str | None = None) -> Iterator[None]:
    """Raise `DiskFailure` for errors of the disk.

    Args:
        what: the file being written, if the error itself does not name it.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, DiskFailure) or not is_failure(error):
            raise
        name = getattr(error, "filename", None) or what
        named = "" if name is None else f" '{name}'"
        raise DiskFailure(f"cannot write{named}: {getattr(error, 'strerror', error)}") from error


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run a transaction of a database; on return, it is on the disk.

    Within another transaction, it is part of that one.
    """
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # otherwise SQLite has rolled it back, as it does on a full disk
            db.execute("ROLLBACK")
        raise


def is_failure(error: Exception) -> bool:
    """Return whether the error is one of the disk."""
    if isinstance(error, OSError):
        return error.errno in _NUMBERS
    # The lowest byte is the primary code; the other bytes only refine it.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return isinstance(error, DiskFailure) or code & 0xFF in _CODES


class StoreConnection(sqlite3.Connection):
    """A connection that raises `DiskFailure` for errors of the disk."""

    def __init__(self, database: Any, *args: Any, **named: Any) -> None:
        super().__init__(database, *args, **named)
        self._name = unquote(str(database).removeprefix("file:").partition("?")[0])
        self._file: tuple[int, int] | None = None
        """Device and inode of the file: writes to a removed file would be lost."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """See `sqlite3.Connection`.

        Raises:
            DiskFailure: see there.
        """
        with watched(self._name):
            self._check_file()
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """See `execute`."""
        with watched(self._name):
            self._check_file()
            return super().executemany(*arguments)

    def _check_file(self) -> None:
        """Check that the file was not removed or replaced since the last statement."""
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
