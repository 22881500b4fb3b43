"""Stores of an older format, made anew: findings are checked again, decisions of people stay.

The old file stays beside the new one, as `findings-format-N.sqlite`.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...compat.release import versions
from ...oracles.passcall import PassCall
from ...oracles.violation import Violation
from ..findings.confirm import DEATHS, take_evidence
from ..findings.dedup import place
from ..findings.finding import FILE_NAME, Finding
from ..findings.rows import BY_HAND
from ..findings.store import DATABASE, SCHEMA_VERSION, Store
from ..process.executor import Executor, JobFailed, check
from ..process.jobs import Check
from ..process.serialize import typed
from ..process.targets import Recipe
from ..user_input.errors import UserError


@dataclass(slots=True)
class _Old:
    """The contents of a store that people and campaigns have put in."""

    findings: dict[str, Finding] = field(default_factory=dict)
    """Those that were confirmed, by id."""
    broken: dict[str, str] = field(default_factory=dict)
    """By id: why what was stored is no finding."""
    rows: dict[str, str] = field(default_factory=dict)
    """By finding: the id of its row."""
    by_hand: set[str] = field(default_factory=set)
    """Findings that somebody has merged into their rows."""
    apart: list[tuple[str, str]] = field(default_factory=list)
    judgements: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """By row: verdict and note."""


def renewed(folder: Path, executor: Executor) -> Iterator[tuple[str, str]]:
    """Make a store anew; yields the old id of each finding, and why it was not renewed.

    Raises:
        UserError: its format is this one, or newer; or its database is a link, or damaged.
        ExecutorError: the harness failed.
    """
    database = folder / DATABASE
    if database.is_symlink():
        raise UserError(f"'{database}' is a link: renew the folder to which it leads")
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version >= SCHEMA_VERSION:
            raise UserError(f"'{folder}' has format {version}: there is nothing to renew")
        old = _read(db)
    database.rename(folder / f"findings-format-{version}.sqlite")
    database.touch()  # the folder is a store, and not foreign
    ids: dict[str, str] = {}
    with Store(folder) as store:
        yield from old.broken.items()
        for id, was in old.findings.items():
            finding, why_not = _again(was, executor)
            store.put(finding)
            place(store, finding)
            ids[id] = finding.id
            yield id, why_not
        _decide(store, old, ids)


def _read(db: sqlite3.Connection) -> _Old:
    old = _Old()
    for id, text in db.execute("SELECT id, finding FROM findings WHERE confirmed ORDER BY rowid"):
        try:
            old.findings[id] = _finding(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            old.broken[id] = f"it is no finding: {type(error).__name__}: {error}"
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if "members" in tables:
        for finding, row, why in db.execute("SELECT finding, row, why FROM members"):
            old.rows[finding] = row
            if why == BY_HAND:
                old.by_hand.add(finding)
        old.apart = db.execute("SELECT one, other FROM apart").fetchall()
        for row, verdict, note in db.execute("SELECT row, verdict, note FROM judgements"):
            old.judgements[row] = (verdict, note)
    return old


def _finding(data: Mapping[str, Any]) -> Finding:
    """A finding of an older format, with the key of its violation as it was.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is none.
    """
    said = data["violation"]
    violation = Violation(
        said["title"],
        said["detail"],
        tuple(said["key"]),
        oracle=said["oracle"],
        pass_name=said["pass_name"],
    )
    script = data.get("reproducer")
    if script is not None and not FILE_NAME.fullmatch(script):
        raise ValueError(f"expected the name of a Python file but got {script[:80]!r}")
    return Finding(
        violation=violation,
        module=data["module"],
        source=data.get("source", ""),
        calls=typed(data.get("calls", []), tuple[PassCall, ...]),
        pipeline=data.get("pipeline"),
        seed=data.get("seed"),
        index=data.get("index"),
        stage=data.get("stage", "raw"),
        recipe=typed(data.get("recipe", {}), Recipe),
        exempt=tuple(data.get("exempt", ())),
        versions=data["versions"],
        confirmed=True,
        reduced=data.get("reduced", False),
        reproducer=script,
    )


def _again(finding: Finding, executor: Executor) -> tuple[Finding, str]:
    """The finding as it comes out today; as it was, if it does not."""
    was = finding.violation
    job = Check(
        module=finding.module,
        calls=finding.calls,
        pipeline=finding.pipeline,
        oracles=None if was.oracle in DEATHS else (was.oracle,),
        exempt=finding.exempt,
    )
    try:
        seen = check(executor, job)
    except (JobFailed, UserError) as error:
        return finding, f"it cannot be checked: {error}"
    blamed = (was.oracle, was.pass_name)
    found = next((each for each in seen if (each.oracle, each.pass_name) == blamed), None)
    if found is None:
        return finding, "it does not fail here"
    finding = replace(finding, violation=found, versions=versions())
    return replace(finding, evidence=take_evidence(executor, finding)), ""


def _decide(store: Store, old: _Old, ids: Mapping[str, str]) -> None:
    """Carry over what people have decided of rows."""
    rows: dict[str, list[str]] = defaultdict(list)
    for finding, row in old.rows.items():
        if finding in ids:
            rows[row].append(finding)
    for members in rows.values():
        by_hand = [each for each in members if each in old.by_hand]
        first = next((each for each in members if each not in old.by_hand), members[0])
        others = [_row(store, ids[each]) for each in by_hand]
        store.rows.merge(_row(store, ids[first]), others)
    for pair in old.apart:
        one, other = (next((ids[f] for f in rows.get(row, ())), None) for row in pair)
        if one is not None and other is not None and _row(store, one) == _row(store, other):
            store.rows.split(one)
    for row, (verdict, note) in old.judgements.items():
        if its := rows.get(row):
            store.rows.judge(_row(store, ids[its[0]]), verdict=verdict, note=note)


def _row(store: Store, finding: str) -> str:
    return store.rows.of(finding) or finding
