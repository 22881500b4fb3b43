"""What the items of a session report to each other and to its end, in any number of processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...corpus.knowns import Known, fields_of
from ...oracles.grades.grade import Grade
from ..findings.finding import Finding
from ..findings.store import Store
from ..output import failure_text
from ..output.readable import short_path
from ..process.serialize import plain, typed
from ..process.targets import PassStats


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """What one item did; as plain data it travels with the item's report."""

    spelling: str
    """The pass, as the user named it."""
    ended: float
    """Unix time."""
    modules: int = 0
    stats: PassStats = field(default_factory=PassStats)
    known_reports: int = 0
    """Checks that ended in a known bug."""
    knowns: Mapping[str, int] = field(default_factory=dict)
    """By name of a known bug: its distinct reports."""
    faults: tuple[str, ...] = ()
    finished: bool = False
    """The item came to its end."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An item reports a bug of a pass."""

    item: str
    spelling: str
    row: str
    finding: str
    """Its id."""


class Claims:
    """Which item reports which bug: a file for each, in a folder that the processes share.

    Several shards of a pass find the same bug, and it is reported once. A claim outlives the
    process of its item.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def claim(self, claim: Claim) -> Claim:
        """The claim to this bug of this pass: the first that was made."""
        folder = self._folder / claim.row
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / hashlib.sha256(claim.spelling.encode()).hexdigest()[:16]
        mine = folder / f".{os.getpid()}"
        mine.write_text(json.dumps(plain(claim)), encoding="utf-8")
        with contextlib.suppress(FileExistsError):
            os.link(mine, path)  # a whole file or none
        mine.unlink()
        return _read(path)

    def all(self) -> list[Claim]:
        """In the order in which they were made."""
        paths = self._folder.glob("*/[!.]*")
        return [_read(path) for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns)]


def _read(path: Path) -> Claim:
    claim: Claim = typed(json.loads(path.read_text(encoding="utf-8")), Claim)
    return claim


def text(finding: Finding, store: Store, claim: Claim, claims: Claims, seeds: Sequence[str]) -> str:
    """A finding as the text of a failed item.

    Args:
        seeds: of the session; with others the modules are others.
    """
    hints = failure_text.hints(finding, store)
    if finding.seed is not None and finding.index is not None:
        hints.append(
            f"Run it again: pytest --relaxfuzz {shlex.quote(claim.spelling)} "
            f"--relaxfuzz-seed {finding.seed} --relaxfuzz-modules {finding.index + 1}"
            + "".join(f" --relaxfuzz-seeds {shlex.quote(short_path(Path(seed)))}" for seed in seeds)
        )
    if claim.row != finding.id:
        hints.append(f"Same bug as:  {claim.row}")
    others = {each.item for each in claims.all() if each.row == claim.row} - {claim.item}
    if others:
        hints.append(f"Also found by: {', '.join(sorted(others))}")
    return failure_text.whole(finding, hints)


def junit_properties(finding: Finding, store: Store) -> Sequence[tuple[str, str]]:
    """The properties of a failed item in JUnit's XML."""
    found = [
        ("relaxfuzz.identity", json.dumps(fields_of(finding.identity), ensure_ascii=False)),
        ("relaxfuzz.grade", finding.grade),
    ]
    reproducer = store.reproducer(finding)
    if reproducer is not None:
        found.append(("relaxfuzz.reproducer", str(reproducer)))
    return found


def below(finding: Finding, least: Grade) -> str:
    """Why a finding does not fail: its grade, or that it breaks no promise."""
    why = f"grade {finding.grade}, below --relaxfuzz-fail-on {least}"
    if finding.grade.reaches(least):
        why = "a hint, which breaks no promise"
    return f"{why}: {finding.label}: {finding.title} ({finding.id})"


def reason(known: Known) -> str:
    """Why a failure is expected: the bug, and its report upstream."""
    return f"{known.what} ({known.upstream[0] if known.upstream else known.name})"
