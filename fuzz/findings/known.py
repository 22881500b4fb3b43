"""Known bugs in a run: expected reports are counted and listed at the end, not triaged.

A known that relaxfuzz ships speaks of TVM: of its passes, its operators, its parser. A user's own
pass is never excused by one, even if it has the name of one of TVM's; what TVM's rewriting by
patterns does inside of it is not blamed on the pass (`oracles.structural.inside`).
"""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from ...corpus.knowns import ANYTHING, SHIPPED, Known, Lookup, knowns
from ...corpus.knowns import known as record_in
from ...oracles import KEY_FORMAT
from ...oracles.catalogue import catalogue
from ...oracles.passcall import PassCall, is_users
from ...oracles.structural import crash, idempotence, well_formed
from ...oracles.values import effects, evaluated, executed, pipeline_values
from ...oracles.violation import Violation
from ..campaign.events import Finished
from ..process.targets import Target
from ..system.files import write_whole
from ..user_input.errors import UserError
from .finding import Finding
from .pattern import elements
from .replay import Item, Outcome, Status, items, replay
from .rules import is_of_users_pass
from .store import file_name

ARITHMETIC = tuple(name for name in catalogue if name.startswith("arith."))
"""Functions of TVM's arithmetic that are checked as passes are."""

_SECOND_RUN = {
    idempotence.RAISES: crash.ORACLE.name,
    idempotence.BROKEN: well_formed.ORACLE.name,
}
"""The oracle that says of a first run what `idempotent` says of a second one."""

_OF_VALUES = (evaluated.ORACLE.name, executed.ORACLE.name)

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
        """The knowns that a finding may be."""
        found = self._own.of(finding.full_key)
        if not is_of_users_pass(finding):
            for key in _keys(finding):
                found += tuple(known for known in self._shipped.of(key) if known not in found)
        if finding.known is not None:
            found += tuple(k for k in self.candidates(finding) if k.name == finding.known)
        return tuple(known for known in found if known.name not in finding.unlike)

    def candidates(self, finding: Finding) -> tuple[Known, ...]:
        """Those that say something of the pass that is blamed, or of any like it."""
        every = self._own.knowns if is_of_users_pass(finding) else self.knowns
        return tuple(known for known in every if known.name not in self.fixed)

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

    def has_key(self, violation: Violation, calls: tuple[PassCall, ...]) -> bool:
        """Whether a violation has the key of a known that may excuse it."""
        finding = Finding(violation=violation, module="", versions={}, calls=calls)
        return any(known.name not in self.fixed for known in self.of(finding))

    def triggers(self, targets: Iterable[Target]) -> dict[str, tuple[str, ...]]:
        """For each pass, by its label: the triggers of what is known of it."""
        chosen = {}
        for target in targets:
            own = target.call is not None and is_users(target.call)
            names = {
                known.trigger: None
                for known in (self._own.knowns if own else self.knowns)
                if known.trigger is not None
                and target.name in known.passes
                and known.name not in self.fixed
            }
            if names:
                chosen[target.label] = tuple(names)
        return chosen

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


def _keys(finding: Finding) -> Iterator[tuple[str, ...]]:
    """The finding's own key, and those of a cause that shows there in another way.

    What a second run raises or breaks, the first does on another module; what a legalization
    raises, LegalizeOps reports too, and what TVM's arithmetic raises, one of its own functions
    does.
    """
    yield finding.full_key
    yield from _wrong_values(finding)
    if finding.oracle == idempotence.ORACLE.name and finding.key[0] in _SECOND_RUN:
        what, *key = finding.key
        yield _SECOND_RUN[what], finding.pass_name, *key
    error = finding.violation.raised
    if error is None:
        return
    if error.legalizes and finding.pass_name != "LegalizeOps":
        yield finding.oracle, "LegalizeOps", *finding.key
    if error.analysis and finding.pass_name not in ARITHMETIC:
        for name in ARITHMETIC:
            yield finding.oracle, name, *finding.key


def _wrong_values(finding: Finding) -> Iterator[tuple[str, ...]]:
    """The keys by which other oracles report that the result of an operator is wrong.

    Wrong values are wrong in the arguments of an effect, too, and what LegalizeOps makes of an
    operator is as wrong when a pipeline has compiled it.
    """
    oracle, key = finding.oracle, finding.key
    if oracle == pipeline_values.ORACLE.name and len(key) == 1:
        for other in _OF_VALUES:
            yield other, "LegalizeOps", *key, finding.pass_name
    if len(key) != 2 or oracle not in (*_OF_VALUES, effects.ORACLE.name):
        return
    kind, operator = key
    if oracle == effects.ORACLE.name:
        kind = "values"
        yield evaluated.ORACLE.name, finding.pass_name, kind, operator
    if finding.pass_name == "LegalizeOps":
        yield pipeline_values.ORACLE.name, operator, kind


@dataclass(frozen=True, slots=True)
class Share:
    """How much of what was checked of a pass shows something, and something new."""

    checks: int
    known: int
    """Of them showed a known bug, by its key."""
    avoided: int
    """Modules that were left out because of the trigger of a known."""
    changed: int = 0
    """Checks in which the pass changed the module."""
    inapplicable: int = 0
    """Modules that it did not apply to, or that have nothing of what it looks for."""


def shares(finished: Finished) -> dict[str, Share]:
    """By item of the schedule."""
    return {
        name: Share(
            stats.checks,
            finished.known.get(name, 0),
            stats.avoided,
            stats.changed,
            stats.inapplicable,
        )
        for name, stats in finished.stats.items()
    }


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
    document = _record(finding.title, finding.versions["tvm"])
    document["keys"].append(list(finding.full_key))
    folder.mkdir(parents=True, exist_ok=True)
    if reproducer is not None:
        shutil.copyfile(reproducer, folder / f"{name}.py")
        document["reproducer"] = f"{name}.py"
    write_whole(path, tomlkit.dumps(document))
    return path


def extend(folder: Path, known: Known, findings: Iterable[Finding]) -> Path:
    """Write into the record of a known bug that these findings are that bug in other words.

    It gets the keys that it does not cover yet, and what the modules are made of. If `folder` has
    no record of this name, one is made there; those of other folders stay as they are.
    """
    path = folder / known.path.name
    folder.mkdir(parents=True, exist_ok=True)
    for finding in findings:
        if path.exists():
            document = tomlkit.parse(path.read_text(encoding="utf-8"))
            covered = record_in(path).matches(finding.full_key)
        else:
            document, covered = _record(known.what, finding.versions["tvm"]), False
        if not covered:
            document["keys"].append(list(finding.full_key))
        if finding.evidence is not None:
            made_of = sorted(elements(finding.evidence.pattern, parameters=True))
            like = document.setdefault("like", tomlkit.array().multiline(True))
            if made_of and made_of not in like.unwrap():
                like.append(made_of)
        write_whole(path, tomlkit.dumps(document))
    return path


def _record(what: str, version: str) -> tomlkit.TOMLDocument:
    """A record without keys yet, of a bug that shows on this version of TVM."""
    document = tomlkit.document()
    document["what"] = what.replace(ANYTHING, "...")
    document["key_format"] = KEY_FORMAT
    document["keys"] = tomlkit.array().multiline(True)
    document["tvm"] = f"fails on {version}"
    return document
