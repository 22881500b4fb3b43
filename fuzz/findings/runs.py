"""Runs: the work done in a store's folder, and the progress of the current one."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..process.targets import PassStats
from ..system.disk_failure import transaction
from ..system.serialize import counted, parse, plain, typed

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL
) STRICT;
"""


LATEST = 2.5e11
"""Seconds since 1970 near the end of supported calendars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The work of a campaign of `relaxfuzz run`, of `nightly` or of the pytest plugin.

    During the campaign, work of unfinished blocks is not counted.
    """

    command: str
    started: float
    """Unix time of the start, in seconds."""
    seed: int | None = None
    workers: int
    versions: Mapping[str, str]
    passes: tuple[str, ...]
    seconds: float = 0.0
    """Duration, without breaks."""
    modules: int = 0
    checks: int = 0
    stats: Mapping[str, PassStats] = field(default_factory=dict)
    """Counts by item of the schedule: a pass, "sequence", or a pipeline."""
    known_reports: Mapping[str, int] = field(default_factory=dict)
    """Number of checks that ended in a known bug, by item."""
    knowns: Mapping[str, int] = field(default_factory=dict)
    """Distinct reports of each known bug that was met, by its name."""
    fixed: tuple[str, ...] = ()
    """Names of known bugs whose reproducers no longer fail."""
    found: tuple[str, ...] = ()
    """Ids of the findings that were reported, in this order."""
    replayed: Mapping[str, str] = field(default_factory=dict)
    """The `replay.ReplayStatus` of each finding of another build that was run again, by its id."""
    tvm_folder: str = ""
    """The folder of the Python package `tvm`."""
    faults: tuple[str, ...] = ()
    """Faults of relaxfuzz itself that prevented a check; see `Finding.faults` for others."""
    lacking: tuple[str, ...] = ()
    """Parts left out because the installed TVM does not support them, each with the reason."""
    unchanged: tuple[str, ...] = ()
    """One sentence for each pass that changed no module."""
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Lines of Python files that passes have run, see `oracles.lines`."""
    finished: bool = False


class Runs:
    """The runs of a store, in the order in which they began."""

    def __init__(self, db: sqlite3.Connection, lock: threading.RLock) -> None:
        self._db = db
        self._lock = lock
        self.unread: dict[int, str] = {}
        """The reasons why runs could not be read, by id."""

    def begin(self, run: Run, continued: int | None = None) -> int:
        """Enter a run, and return its id.

        Args:
            continued: id of an interrupted run whose bugs this run takes over.
        """
        with self._lock, transaction(self._db):
            before = None if continued is None else self._read(continued)
            if continued is not None and before is not None:
                self.save(continued, dataclasses.replace(before, found=()))
            made = self._db.execute("INSERT INTO runs (run) VALUES (?)", (_encode(run),))
            return made.lastrowid or 0

    def save(self, id: int, run: Run) -> None:
        """Write the work of a run."""
        with self._lock:
            self._db.execute("UPDATE runs SET run = ? WHERE id = ?", (_encode(run), id))

    def all(self) -> dict[int, Run]:
        """Every run by its id. Unreadable runs are left out, and noted in `unread`."""
        with self._lock:
            ids = self._db.execute("SELECT id FROM runs ORDER BY id").fetchall()
            found = {id: self._read(id) for (id,) in ids}
        return {id: run for id, run in found.items() if run is not None}

    def _read(self, id: int) -> Run | None:
        try:
            row = self._db.execute("SELECT run FROM runs WHERE id = ?", (id,)).fetchone()
            return None if row is None else _decode(row[0])
        except (ValueError, sqlite3.DataError) as error:
            self.unread[id] = str(error)
            return None


def _encode(run: Run) -> str:
    return json.dumps(plain(run))


def _decode(text: str) -> Run:
    run: Run = typed(counted(parse(text)), Run)
    if run.started > LATEST:
        raise ValueError(f"expected a time but got started={run.started!r}")
    return run
