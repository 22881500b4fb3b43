"""Runs: what was done in a store's folder, and how far the current one is."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..process.serialize import counted, parse, plain, typed
from ..process.targets import PassStats

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    state TEXT
) STRICT;
"""


SAMPLES = 256
"""At most so many of a run are kept."""

LATEST = 2.5e11
"""Seconds since 1970; calendars end about there."""

INTERVAL = 0.5
"""Seconds between two samples of a short run."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How far a run was at some time."""

    seconds: float
    modules: int
    checks: int
    findings: int
    """Distinct violations that are not known, confirmed or not."""


def sampled(samples: Sequence[Sample], latest: Sample) -> tuple[Sample, ...]:
    """The samples with one more, the last of each interval.

    The interval is doubled as long as more than `SAMPLES` of them would be needed: a run of any
    length has a bounded number, at regular intervals.
    """
    interval = INTERVAL
    while latest.seconds >= interval * SAMPLES:
        interval *= 2
    return tuple({int(each.seconds / interval): each for each in (*samples, latest)}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a campaign of `relaxfuzz run`, of `nightly` or of the pytest plugin did.

    A run that was interrupted and resumed is one. While it goes on, it stands where it could be
    resumed: what blocks under way have done is not counted.
    """

    command: str
    started: float
    """Unix time, seconds."""
    seed: int | None = None
    workers: int
    versions: Mapping[str, str]
    passes: tuple[str, ...]
    seconds: float = 0.0
    """Breaks not counted."""
    modules: int = 0
    checks: int = 0
    stats: Mapping[str, PassStats] = field(default_factory=dict)
    """By item of the schedule: a pass, "sequence", or a pipeline."""
    known_reports: Mapping[str, int] = field(default_factory=dict)
    """By item: how many of its checks ended in a known bug."""
    knowns: Mapping[str, int] = field(default_factory=dict)
    """By name of a known that was met: its distinct reports."""
    fixed: tuple[str, ...] = ()
    """Names of knowns whose reproducers do not fail any more."""
    found: tuple[str, ...] = ()
    """Ids of the findings that were reported, in this order."""
    replayed: Mapping[str, str] = field(default_factory=dict)
    """By id of a finding of another build that was run again: its `replay.Status`."""
    tvm_folder: str = ""
    """The folder of the Python package `tvm`."""
    samples: tuple[Sample, ...] = ()
    faults: tuple[str, ...] = ()
    """Of relaxfuzz itself, for which a check could not be made; see `Store.failed_steps` for
    others."""
    lacking: tuple[str, ...] = ()
    """What was left out because the installed TVM does not support it, each with the reason."""
    unchanged: tuple[str, ...] = ()
    """On passes that changed no module, a sentence each."""
    finished: bool = False


class Runs:
    """The runs of a store, in the order in which they began."""

    def __init__(self, db: sqlite3.Connection, lock: threading.RLock) -> None:
        self._db = db
        self._lock = lock
        self.unread: dict[int, str] = {}
        """By id: why a run could not be read when it was asked for."""

    def begin(self, run: Run) -> int:
        """Enter a run; its id. Nobody can go on with an earlier one of its command any more."""
        with self._lock:
            for id, before, _ in self._with_state():
                if before is None or before.command == run.command:
                    self._db.execute("UPDATE runs SET state = NULL WHERE id = ?", (id,))
            text = _encode(run)
            return self._db.execute("INSERT INTO runs (run) VALUES (?)", (text,)).lastrowid or 0

    def save(self, id: int, run: Run) -> None:
        """Write what a run has done; what is needed to go on with it stays as it is."""
        with self._lock:
            self._db.execute("UPDATE runs SET run = ? WHERE id = ?", (_encode(run), id))

    def checkpoint(self, id: int, run: Run, state: str | None) -> None:
        """Write how far a run is, in one step.

        Args:
            state: what is needed to go on with it; None once it has ended.
        """
        with self._lock:
            self._db.execute(
                "UPDATE runs SET run = ?, state = ? WHERE id = ?", (_encode(run), state, id)
            )

    def all(self) -> dict[int, Run]:
        """Every run by its id. Those that cannot be read are left out, and noted in `unread`."""
        with self._lock:
            ids = self._db.execute("SELECT id FROM runs ORDER BY id").fetchall()
            found = {id: self._read(id) for (id,) in ids}
        return {id: run for id, run in found.items() if run is not None}

    def unfinished(self, command: str) -> tuple[int, Run, str] | None:
        """The last run of a command, if it can go on: its id, and the state it was saved with."""
        with self._lock:
            for id, run, state in self._with_state():
                if run is not None and run.command == command:
                    return id, run, state
        return None

    def _with_state(self) -> list[tuple[int, Run | None, str]]:
        """The latest first; of each command it is its last run, if that is not finished."""
        rows = self._db.execute(
            "SELECT id, state FROM runs WHERE state IS NOT NULL ORDER BY id DESC"
        )
        return [(id, self._read(id), state) for id, state in rows.fetchall()]

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
    data = counted(parse(text))
    run: Run = typed(data, Run)
    if run.started > LATEST:
        raise ValueError(f"expected a time but got started={run.started!r}")
    return run
