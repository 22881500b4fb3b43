"""Known bugs in a run: expected reports are counted and listed at the end, but not triaged.

The known bugs that relaxfuzz ships are about TVM: its passes, operators and parser. They never
excuse a user's own pass, even one named like a pass of TVM. Effects of TVM's rewriting by patterns
inside a user's pass are not blamed on that pass (`oracles.structural.inside`).
"""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT

from ...corpus.knowns import SHIPPED, Known, Lookup, fields_of, knowns
from ...corpus.knowns import known as record_in
from ...oracles.identity import FORMAT, Identity, Sameness, compare, distinction, is_alike
from ...oracles.passcall import is_users
from ..system.errors import UserError
from ..system.files import write_whole
from .finding import Finding, UnconfirmedFinding
from .listed import USERS
from .store import file_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The known bugs that a command assumes, and its treatment of the user's files."""

    folders: tuple[Path, ...] = ()
    """The user's folders; empty: `USERS`, if that exists."""
    shipped: bool = True
    update: bool = False

    @property
    def own(self) -> tuple[Path, ...]:
        """The user's folders that exist."""
        return self.folders or ((USERS,) if self.shipped and USERS.is_dir() else ())

    def load(self, version: str) -> Expected:
        """
        Raises:
            UserError: a folder does not exist, or holds a file that is not a known.
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
    """The known bugs expected on the installed TVM, and those of them that were seen."""

    def __init__(self, shipped: Iterable[Known], own: Iterable[Known], version: str) -> None:
        """
        Raises:
            ValueError: `version` is not a version.
        """
        self.version = version
        self.reports: Counter[Known] = Counter()
        """Distinct reports of each known bug that was seen."""
        self.met: defaultdict[Known, list[Finding]] = defaultdict(list)
        """The same reports, without their modules."""
        self.fixed: frozenset[str] = frozenset()
        """Names of known bugs whose reproducers pass on this build: their keys excuse nothing."""
        self._ids: set[str] = set()
        self._shipped = Lookup(shipped, version)
        self._own = Lookup(own, version)

    @property
    def knowns(self) -> tuple[Known, ...]:
        """The expected known bugs."""
        return self._shipped.knowns + self._own.knowns

    @property
    def total(self) -> int:
        """Distinct reports of known bugs; a report that fits several of them counts once."""
        return len(self._ids)

    @property
    def own(self) -> tuple[Known, ...]:
        """The user's own among the expected known bugs."""
        return self._own.knowns

    def of(self, finding: Finding) -> tuple[Known, ...]:
        """The known bugs that a finding is, or presumably is before it is minimized.

        Fixed ones are included, since reports still name them.
        """
        identity, made_of = finding.identity, finding.ingredients
        found = (each.of(identity, made_of) for each in self._lookups(finding))
        return tuple(dict.fromkeys(itertools.chain(*found)))

    def _lookups(self, finding: Finding) -> Iterator[Lookup]:
        yield self._own
        if not is_of_users_pass(finding):
            yield self._shipped

    def similar(self, finding: Finding) -> str:
        """The known bug that a minimized finding is similar to, with the difference."""
        identity = finding.identity
        for known in itertools.chain(*(each.similar(identity) for each in self._lookups(finding))):
            if known.name not in self.fixed:
                nearest = max(
                    known.identities,
                    key=lambda mine: (compare(mine, identity), is_alike(mine, identity)),
                )
                return f"{known.name} ({distinction(nearest, identity)})"
        return ""

    def take(self, finding: Finding) -> bool:
        """Count a report that was expected; return whether it was."""
        found = tuple(known for known in self.of(finding) if known.name not in self.fixed)
        if found and finding.id not in self._ids:
            self._ids.add(finding.id)
            self.reports.update(found)
            for known in found:
                self.met[known].append(dataclasses.replace(finding, module="", source=""))
        return bool(found)

    def presumes(self, found: UnconfirmedFinding) -> bool:
        """Return whether a report of a campaign presumably is a known bug."""
        known = self.of(found.finding({}, ()))
        return any(each.name not in self.fixed for each in known)


def is_of_users_pass(finding: Finding) -> bool:
    """Return whether the blamed pass is the user's own."""
    return any(call.name == finding.pass_name and is_users(call) for call in finding.calls)


def is_certain(known: Known, version: str) -> bool:
    """Return whether the known bug was seen on exactly this TVM, so that it needs no verification.

    Builds of a development version share their version number.
    """
    return "dev" not in version and "+" not in version and version in known.tvm.fails_on


def prune(known: Known, version: str) -> str:
    """Record that a known bug no longer fails on this TVM; return a description of the change.

    The record gets `; fixed in`, or `; new in` on an older TVM. If it then fails on no version, its
    file and the reproducer beside it are removed.
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
    """Write a confirmed finding as a known bug; an existing file is not changed."""
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
    """Add these findings to the record of a known bug.

    The record gets the identities that it does not cover yet. If `folder` has no record of this
    name, one is created there; records in other folders are not changed.
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
    """A record without identities, for a bug that shows on this version of TVM."""
    document = tomlkit.document()
    document["what"] = what
    document["reports"] = reports
    document["tvm"] = f"fails on {version}"
    document["format"] = FORMAT
    return document


def _as_far_as_known(finding: Finding) -> Identity:
    """The identity; a module that could not be minimized contributes all its ingredients."""
    made_of = finding.ingredients
    if made_of is None:
        return finding.identity
    return dataclasses.replace(finding.identity, ingredients=frozenset(made_of))


def _report(finding: Finding) -> list[str]:
    return [finding.oracle, finding.pass_name]


def tables(every: Iterable[Mapping[str, Any]]) -> AoT:
    """Tables of identities, with one field per line."""
    array = tomlkit.aot()
    for fields in every:
        table = tomlkit.table()
        table.update(fields)
        array.append(table)
    return array
