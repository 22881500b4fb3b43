"""What has to be true when a campaign is over, whatever happened to it."""

from __future__ import annotations

import ast
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from distributed.diskutils import WorkSpace

from relaxfuzz.fuzz.findings.store import DATABASE, Store
from relaxfuzz.fuzz.nightly.state import FILE

from .campaigns import Campaign, settled

FOLDERS = {"modules", "reproducers"}
FILES = {DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "lock.json", FILE, "report.html"}

DASKS = {"dask-scratch-space", "global.lock", "purge.lock"}
"""What Dask itself leaves wherever it has worked."""


def ending(out: Path) -> dict[str, Any]:
    """All of a store that does not depend on the clock."""
    with Store(out, create=False) as store:
        # A second command that finds the driver dead has the folder to itself.
        (run,) = (each for each in store.runs.all().values() if each.command == "nightly")
        findings = list(store.findings())
        rows = sorted(sorted(each.finding for each in row.members) for row in store.rows.all())
        return {
            "findings": sorted(finding.id for finding in findings),
            "rows": rows,
            "reported": sorted(str(store.rows.of(id)) for id in run.found),
            "modules": run.modules,
            "checks": {item: stats.checks for item, stats in run.stats.items()},
            "finished": run.finished,
        }


def harm(campaign: Campaign) -> list[str]:
    """What is not as it should be, in a sentence each."""
    harm = [f"a process was left: {each}" for each in settled(campaign)]
    harm += [
        f"a temporary file was left: {path.relative_to(campaign.tmp)}"
        for path in campaign.tmp.rglob("*")
        if path.name not in DASKS
    ]
    harm += [
        f"a file was left with a Dask worker: {path.relative_to(campaign.folder)}"
        for home in campaign.folder.glob("worker-*")
        for path in _left(home)
    ]
    if "Traceback (most recent call last)" in campaign.output():
        harm.append("a traceback was shown")
    return harm + damage(campaign.out)


def damage(out: Path) -> list[str]:
    """What is not as it should be in the folder of a store."""
    damage = []
    with closing(sqlite3.connect(out / DATABASE)) as db:
        if (answer := db.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
            damage.append(f"SQLite: {answer}")
    named: set[str] = set()
    with Store(out, create=False) as store:
        damage += [f"nobody came to the end with {each.id}" for each in store.pending()]
        for finding in store.findings():
            files = [store.module(finding)]
            if finding.reproducer is not None:
                files.append(out / "reproducers" / finding.reproducer)
            for path in files:
                named.add(path.name)
                damage += [f"{finding.id}: {each}" for each in _whole(path)]
        members = Counter(each.finding for row in store.rows.all() for each in row.members)
        damage += [f"{id} is in {n} rows" for id, n in members.items() if n > 1]
        for run in store.runs.all().values():
            damage += [f"a fault of relaxfuzz: {text[-300:]}" for text in run.faults]
            reports = Counter(store.rows.of(id) for id in run.found)
            damage += [f"row {row} was reported {n} times" for row, n in reports.items() if n > 1]
    for path in out.rglob("*"):
        parent = path.parent.relative_to(out).as_posix()
        if parent == "." and path.name not in FOLDERS | FILES:
            damage.append(f"a file that does not belong there: {path.name}")
        elif parent in FOLDERS and path.name not in named:
            damage.append(f"a file that no finding names: {parent}/{path.name}")
    return damage


def _left(home: Path) -> list[Path]:
    """Files in the folder of a Dask worker that has ended, which nobody will remove."""
    # As the next worker does it that starts there: what one that was killed has left goes now.
    WorkSpace(str(home / "dask-scratch-space")).new_work_dir(name="next").release()
    return [path for path in home.rglob("*") if path.name not in DASKS]


def _whole(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            json.loads(text)
        else:
            ast.parse(text)
    except (OSError, ValueError, SyntaxError) as error:
        return [f"{path.name} is not whole: {error}"]
    return [] if text.strip() else [f"{path.name} is empty"]
