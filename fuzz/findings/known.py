"""Known bugs in a run: expected reports are counted and listed at the end, not triaged.

A known that relaxfuzz ships speaks of TVM: of its passes, its operators, its parser. A user's own
pass is never excused by one, even if it has the name of one of TVM's; what TVM's rewriting by
patterns does inside of it is not blamed on the pass (`oracles.structural.inside`).
"""

from __future__ import annotations

import dataclasses
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT

from ...corpus.knowns import SHIPPED, Known, Lookup, fields_of, knowns
from ...corpus.knowns import known as record_in
from ...oracles.identity import FORMAT, Identity, Sameness, compare, distinction
from ...oracles.passcall import is_users
from ..campaign.events import Found
from ..system.files import write_whole
from ..user_input.errors import UserError
from .finding import Finding
from .replay import Item, Outcome, Status, items, replay
from .store import file_name

USERS = Path("relaxfuzz-known")
"""The user's own knowns, in the folder that relaxfuzz is run in."""

NO_LONGER = frozenset({Status.FIXED, Status.PASSES, Status.GONE})
"""What a reproducer does that does not fail any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which knowns a command takes for granted, and what it does to the user's files of them."""

    folders: tuple[Path, ...] = ()
    """The user's; none: `USERS`, if that is there."""
    shipped: bool = True
    update: bool = False

    @property
    def own(self) -> tuple[Path, ...]:
        """The user's folders that are there."""
        return self.folders or ((USERS,) if self.shipped and USERS.is_dir() else ())

    def load(self, version: str) -> Expected:
        """
        Raises:
            UserError: a folder that is none, or holds a file that is no known.
        """
        try:
            shipped = knowns(SHIPPED) if self.shipped else ()
            for path in self.own:
                if not path.is_dir() and not self.update:
                    raise UserError(f"expected a folder of knowns but got --known '{path}'")
            own = [known for folder in self.own for known in knowns(folder)]
            return Expected(shipped, own, version)
        except ValueError as error:
            raise UserError(str(error)) from None


class Expected:
    """The knowns that are expected on the installed TVM, and which of them were seen."""

    def __init__(self, shipped: Iterable[Known], own: Iterable[Known], version: str) -> None:
        """
        Raises:
            ValueError: that is no version.
        """
        self.version = version
        self.reports: Counter[Known] = Counter()
        """Distinct reports of each known that was seen."""
        self.fixed: frozenset[str] = frozenset()
        """Names of those whose reproducers pass on this build: their keys excuse nothing."""
        self._ids: set[str] = set()
        self._shipped = Lookup(shipped, version)
        self._own = Lookup(own, version)

    @property
    def knowns(self) -> tuple[Known, ...]:
        """Those that are expected."""
        return self._shipped.knowns + self._own.knowns

    @property
    def total(self) -> int:
        """Distinct reports of knowns; one that several knowns may have is one."""
        return len(self._ids)

    @property
    def own(self) -> tuple[Known, ...]:
        """Those of them that are the user's."""
        return self._own.knowns

    def of(self, finding: Finding) -> tuple[Known, ...]:
        """The known bugs that a finding is, or is presumed to be while it is not minimized.

        Those that are fixed are among them: reports still name them.
        """
        identity, made_of = finding.identity, finding.ingredients
        found = self._own.of(identity, made_of)
        if not is_of_users_pass(finding):
            found += tuple(k for k in self._shipped.of(identity, made_of) if k not in found)
        return found

    def similar(self, finding: Finding) -> str:
        """A known bug that a minimized finding is similar to, and what distinguishes them."""
        identity = finding.identity
        found = self._own.similar(identity)
        if not is_of_users_pass(finding):
            found += self._shipped.similar(identity)
        for known in found:
            if known.name not in self.fixed:
                nearest = max(known.identities, key=lambda mine: compare(mine, identity))
                return f"{known.name} ({distinction(nearest, identity)})"
        return ""

    def take(self, finding: Finding) -> bool:
        """Count a report that was expected; false where it is news."""
        found = tuple(known for known in self.of(finding) if known.name not in self.fixed)
        if found and finding.id not in self._ids:
            self._ids.add(finding.id)
            self.reports.update(found)
        return bool(found)

    def recall(self, reports: Mapping[str, int], ids: Iterable[str]) -> None:
        """Count what a former process has reported.

        Args:
            reports: distinct reports by the name of a known; those that are gone are left out.
            ids: of the findings that were known.
        """
        self._ids.update(ids)
        for known in self.knowns:
            self.reports[known] += reports.get(known.name, 0)
        self.reports += Counter()  # keeps those that were seen

    def presumes(self, found: Found) -> bool:
        """A report of a campaign is presumed to be a known bug."""
        known = self.of(found.finding({}, ()))
        return any(each.name not in self.fixed for each in known)

    def unseen(self, passes: Sequence[str] | None) -> list[Known]:
        """The knowns that were not.

        Args:
            passes: only knowns of these; None: all.
        """
        return [
            known
            for known in self.knowns
            if known not in self.reports and (passes is None or not known.passes.isdisjoint(passes))
        ]


def is_of_users_pass(finding: Finding) -> bool:
    """The pass that is blamed is the user's own."""
    return any(call.name == finding.pass_name and is_users(call) for call in finding.calls)


def is_certain(known: Known, version: str) -> bool:
    """The known was seen to fail on exactly this TVM: there is nothing to verify.

    Builds of a development version share their number.
    """
    return "dev" not in version and "+" not in version and version in known.tvm.fails_on


def verify(
    todo: Sequence[Known], workers: int, stop: threading.Event
) -> Iterator[tuple[Known, Outcome]]:
    """Run the reproducers of knowns, until all are done or `stop` is set.

    Those without one are left out.

    Raises:
        ExecutorError: the harness failed.
    """
    with ThreadPoolExecutor(workers) as threads:
        futures = {
            threads.submit(_replay, item, stop): known
            for known in todo
            if known.reproducer is not None
            for item in items(known.reproducer)
        }
        for future in as_completed(futures):
            outcome = future.result()
            if outcome is not None:
                yield futures[future], outcome


def _replay(item: Item, stop: threading.Event) -> Outcome | None:
    return None if stop.is_set() else replay(item, None)


def prune(known: Known, version: str) -> str:
    """Take down that a known does not fail on this TVM any more; what was done, for people.

    The claim gets `; fixed in`, or `; new in` on an older TVM. Where no other version is left on
    which it fails, the file goes, and the reproducer beside it.
    """
    left = known.tvm.passing(version)
    if left is not None:
        document = tomlkit.parse(known.path.read_text(encoding="utf-8"))
        document["tvm"] = str(left)
        write_whole(known.path, tomlkit.dumps(document))
        return f"{known.path}: {left}"
    known.path.unlink()
    if known.reproducer is not None and known.reproducer.parent == known.path.parent:
        known.reproducer.unlink()
    return f"{known.path}: removed"


def add(folder: Path, finding: Finding, reproducer: Path | None) -> Path:
    """Write a confirmed finding as a known; a file that is there already is left as it is."""
    name = file_name(finding).removesuffix(".py").lower()
    path = folder / f"{name}.toml"
    if path.exists():
        return path
    document = _record(finding.title, finding.versions["tvm"], [_report(finding)])
    document["identity"] = tables([fields_of(_as_far_as_known(finding))])
    folder.mkdir(parents=True, exist_ok=True)
    if reproducer is not None:
        shutil.copyfile(reproducer, folder / f"{name}.py")
        document["reproducer"] = f"{name}.py"
    write_whole(path, tomlkit.dumps(document))
    return path


def extend(folder: Path, known: Known, findings: Iterable[Finding]) -> Path:
    """Write into the record of a known bug that these findings are that bug, too.

    It gets the identities that it does not cover yet. If `folder` has no record of this name, one
    is made there; those of other folders stay as they are.
    """
    path = folder / known.path.name
    folder.mkdir(parents=True, exist_ok=True)
    for finding in findings:
        if path.exists():
            document = tomlkit.parse(path.read_text(encoding="utf-8"))
            covered = record_in(path).sameness(finding.identity) is Sameness.SAME
        else:
            document = _record(known.what, finding.versions["tvm"], [_report(finding)])
            covered = False
        if not covered:
            (table,) = tables([fields_of(_as_far_as_known(finding))])
            document.setdefault("also", tomlkit.aot()).append(table)
        write_whole(path, tomlkit.dumps(document))
    return path


def _record(what: str, version: str, reports: list[list[str]]) -> tomlkit.TOMLDocument:
    """A record without identities yet, of a bug that shows on this version of TVM."""
    document = tomlkit.document()
    document["what"] = what
    document["reports"] = reports
    document["tvm"] = f"fails on {version}"
    document["format"] = FORMAT
    return document


def _as_far_as_known(finding: Finding) -> Identity:
    """The identity; the ingredients of a module that could not be minimized are all that it has."""
    made_of = finding.ingredients
    if made_of is None:
        return finding.identity
    return dataclasses.replace(finding.identity, ingredients=frozenset(made_of))


def _report(finding: Finding) -> list[str]:
    return [finding.oracle, finding.pass_name]


def tables(every: Iterable[Mapping[str, Any]]) -> AoT:
    """Tables of identities, one field a line."""
    array = tomlkit.aot()
    for fields in every:
        table = tomlkit.table()
        table.update(fields)
        array.append(table)
    return array
