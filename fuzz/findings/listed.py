"""The rows of a store as `relaxfuzz findings` lists them, in a file beside it.

Grades, identities and contracts are in code that needs TVM. A process that writes to a store writes
this file at its end. While store, known bugs and code are unchanged, no TVM is needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ...compat import build
from ...corpus.reading import LONGEST_GENERATED, read_text
from ...oracles.grades.grade import Grade
from ..system import database
from ..system.errors import UserError, near
from ..system.files import write_whole
from ..system.serialize import parse, plain, typed

T = TypeVar("T")

FILE = "rows.json"

FORMAT = 2
"""Version of the stored form, and of the lines of JSON; other versions are not read."""

DATABASE = "findings.sqlite"

USERS = Path("relaxfuzz-known")
"""The folder of the user's own known bugs, in the working directory of relaxfuzz."""

VERDICTS = ("true", "false", "wontfix", "reported", "fixed", "unclear")
"""The verdicts on a row; all other remarks are notes."""

FILE_NAME = re.compile(r"[\w.-]{1,250}\.py", re.ASCII)
"""Pattern for the file name of a reproducer, which must be directly in one folder of the store."""


@dataclass(frozen=True, slots=True)
class ListedFinding:
    """One finding of a row."""

    id: str
    why: str
    """The reason why it is the same bug as the others; empty for the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRow:
    """One bug, as `relaxfuzz findings` lists it."""

    id: str
    """The id of the row, that of one of its findings."""
    passes: tuple[str, ...]
    """The blamed passes, operators and parsers."""
    labels: tuple[str, ...]
    """The same with a mark on passes of TVM that have no contract."""
    contract: bool
    """False if the first of them is a pass of TVM without a contract."""
    oracles: tuple[str, ...]
    """The oracles that report it."""
    title: str
    """One line on what went wrong."""
    grade: Grade
    """A, B or C, A the gravest."""
    consequence: str
    """The effect on users, and the build that shows it."""
    status: str
    """new, back, known, similar to a known bug, gone on a build, or the verdict."""
    known: str | None
    """The name of the known bug that it is."""
    verdict: str | None
    """The verdict of a person."""
    note: str | None
    """The note of a person."""
    first_seen: str | None
    """The time of the first run that reported it."""
    last_seen: str | None
    """The time of the last run that reported it, or saw it fail again."""
    builds: tuple[str, ...]
    """The builds of TVM on which it failed."""
    gone_on: str | None
    """The build on which it no longer failed."""
    back: bool
    """It was gone, and fails again."""
    bindings: str
    """The number of bindings of the module; "?" if it is not a module."""
    reproducer: str | None
    """The path of the Python file that fails."""
    findings: tuple[ListedFinding, ...]
    """The findings of the row, the best one to show first, each with its `id` and `why` it is this
    bug."""

    @property
    def event(self) -> dict[str, object]:
        """The line of `relaxfuzz findings --json`."""
        return {"event": "row", "schema": FORMAT, **plain(self)}

    @property
    def state(self) -> str:
        """The status in words."""
        return f"known: {self.known}" if self.status == "known" else self.status

    @property
    def seen(self) -> str:
        """The days and the versions of TVM on which it failed, for a cell of a table."""
        days = [at.partition("T")[0] for at in (self.first_seen, self.last_seen) if at is not None]
        on = (build.partition(" (")[0].removeprefix("TVM ") for build in self.builds)
        return ", ".join(filter(None, (" to ".join(dict.fromkeys(days)), *dict.fromkeys(on))))


@dataclass(frozen=True, slots=True)
class Shown:
    """The parts of a finding that `relaxfuzz findings show` prints."""

    about: str
    """The finding and its row, in words."""
    diff: str
    """The difference that the oracle saw; empty if there is none."""
    story: str
    """The difference, or the only text and the reason; empty if not known."""
    file: str | None
    """The name of the reproducer, in the folder `reproducers`."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of a store."""

    rows: tuple[ListedRow, ...]
    shown: Mapping[str, Shown]
    """By the id of the finding; findings that need more information are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The conditions on rows to list."""

    passes: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    new: bool = False
    grade: Grade = Grade.C
    """The least grave grade to list."""
    unconfirmed: bool = False
    """List unconfirmed findings instead of rows."""

    def selected(self, rows: Sequence[ListedRow], folder: object) -> list[ListedRow]:
        """The rows that meet the conditions.

        Raises:
            UserError: no row has the pass or oracle of the filter, or there is no such verdict.
        """
        passes = {name for row in rows for name in row.passes}
        oracles = {name for row in rows for name in row.oracles}
        both = ("--pass", self.passes, passes), ("--oracle", self.oracles, oracles)
        for option, wanted, found in both:
            for name in wanted:
                if name not in found:
                    hint = near(name, sorted(found))
                    raise UserError(f"no finding in '{folder}' has {option} {name!r}{hint}")
        for verdict in self.verdicts:
            check_verdict(verdict)
        return [row for row in rows if self._selects(row)]

    def _selects(self, row: ListedRow) -> bool:
        return (
            (not self.passes or not set(self.passes).isdisjoint(row.passes))
            and (not self.oracles or not set(self.oracles).isdisjoint(row.oracles))
            and (not self.verdicts or row.verdict in self.verdicts)
            and (not self.new or row.status in ("new", "back"))
            and row.grade.reaches(self.grade)
        )


def check_verdict(name: str) -> None:
    """
    Raises:
        UserError: there is no such verdict.
    """
    if name not in VERDICTS:
        raise UserError(f"no verdict {name!r}{near(name, VERDICTS)}; use `note` for other words")


def find(by_id: Mapping[str, T], id: str) -> T:
    """The one with this id, or the only one whose id starts with it.

    Raises:
        UserError: there is none, or several.
    """
    found = [name for name in by_id if name.startswith(id)]
    if len(found) == 1:
        return by_id[found[0]]
    if found:
        raise UserError(
            f"the ids of several findings begin with {id!r}: {', '.join(sorted(found))}"
        )
    hint = near(id, by_id, otherwise="; `relaxfuzz findings` lists them")
    raise UserError(f"no id of a finding begins with {id!r}{hint}")


def read(folder: Path) -> Listing | None:
    """The rows, if the file exists and neither store nor code has changed since."""
    path = folder / FILE
    with contextlib.suppress(OSError, ValueError, sqlite3.Error, database.BadDatabase):
        if not path.is_symlink():
            data = parse(read_text(path, LONGEST_GENERATED))
            if isinstance(data, dict) and data.pop("stamp", None) == stamp(folder):
                listing: Listing = typed(data, Listing)
                return listing
    return None


def keep(folder: Path, listing: Listing) -> None:
    """Write the file; a folder that is not writable is left unchanged."""
    with contextlib.suppress(OSError, sqlite3.Error, database.BadDatabase):
        write_whole(folder / FILE, json.dumps({"stamp": stamp(folder), **plain(listing)}))


def text_of(folder: Path, shown: Shown) -> str | None:
    """The reproducer of a finding; None if it does not exist (any more)."""
    path = reproducer_in(folder, shown.file)
    with contextlib.suppress(OSError, ValueError):
        return None if path is None else read_text(path, LONGEST_GENERATED)
    return None


def reproducer_in(folder: Path, name: str | None) -> Path | None:
    """The path of a reproducer, or None if there is none (any more).

    A link does not count: it may lead out of the folder.
    """
    if name is None or not FILE_NAME.fullmatch(name):
        return None
    path = folder / "reproducers" / name
    link = path.is_symlink() or path.parent.is_symlink()
    return path if path.is_file() and not link else None


_CONTENTS = (
    "SELECT count(*), total(length(CAST(finding AS BLOB))), total(confirmed) FROM findings",
    "SELECT count(*), total(length(CAST(run AS BLOB))) FROM runs",
    "SELECT finding, row, why FROM members ORDER BY rowid",
    "SELECT row, verdict, note FROM judgements ORDER BY row",
)
"""Queries whose answers change with every change of the rows."""


def stamp(folder: Path) -> str:
    """A digest of everything that rows depend on: the store, the user's known bugs, the code.

    Raises:
        BadDatabase, OSError, sqlite3.Error: the store cannot be read.
    """
    whole = hashlib.sha256(f"{FORMAT} {build.source_stamp()}".encode())
    db, copy = database.readable(folder / DATABASE)
    try:
        for query in _CONTENTS:
            whole.update(repr(db.execute(query).fetchall()).encode("utf-8", "replace"))
    finally:
        db.close()
        if copy is not None:
            copy.cleanup()
    for path in sorted(USERS.glob("*.toml")):
        whole.update(f"{path.absolute()} {path.stat().st_mtime_ns}".encode())
    return whole.hexdigest()[:16]
