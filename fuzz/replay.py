"""See stored findings and reproducer files again: which of them still fail?"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..generators.source import from_source
from ..generators.tvm_api import load_json, save_json, versions
from . import reproducer
from .confirm import again
from .executor import Executor
from .finding import Finding, UnknownFormat
from .mistake import Mistake
from .runner import HUNG
from .store import DATABASE, BadStore, Store


class Status(enum.StrEnum):
    """What became of a finding."""

    FAILS = "still fails"
    GONE = "gone"
    BROKEN = "cannot be run"


@dataclass(frozen=True, slots=True)
class Item:
    """Something to see again."""

    path: Path
    finding: Finding | None
    """None for a file that belongs to no store."""

    @property
    def name(self) -> str:
        """What the table calls it."""
        if self.finding is None:
            return self.path.name
        return f"{self.finding.pass_name}: {self.finding.title}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out."""

    item: Item
    status: Status
    said: str
    """One line of it."""


def items(path: Path) -> Iterator[Item]:
    """What a path names: a folder of findings, `FOLDER/ID`, a reproducer file, a folder of them.

    Raises:
        Mistake: it names nothing of that.
    """
    if path.is_file():
        if path.suffix != ".py":
            raise Mistake(f"expected a folder of findings or a reproducer (*.py) but got '{path}'")
        yield Item(path, None)
        return
    if (path / DATABASE).is_file():
        with _open(path) as store:
            for finding in _readable(store):
                yield Item(path, finding)
        return
    if (path.parent / DATABASE).is_file():
        with _open(path.parent) as store:
            found = store.get(path.name)
        if found is None:
            raise Mistake(f"no finding {path.name!r} in '{path.parent}'")
        yield Item(path.parent, found)
        return
    if not path.exists():
        raise Mistake(f"nothing is at '{path}'")
    files = [file for file in sorted(path.rglob("*.py")) if reproducer.is_reproducer(file)]
    if not files:
        raise Mistake(f"no findings in '{path}': neither {DATABASE} nor reproducers")
    yield from (Item(file, None) for file in files)


def replay(item: Item, executor: Executor) -> Outcome:
    """See one item again, in a process of its own.

    Raises:
        ExecutorError: the harness failed.
    """
    if item.finding is None:
        return _script(item)
    try:
        module = _module(item.finding)
    except Exception as error:
        return Outcome(item, Status.BROKEN, f"its module does not load: {error}".split("\n")[0])
    violation = again(executor, item.finding, module)
    if violation is None:
        return Outcome(item, Status.GONE, "")
    return Outcome(item, Status.FAILS, violation.title)


def _module(finding: Finding) -> str:
    """JSON that this TVM reads: the stored one, or made from source if another TVM wrote that."""
    here = versions()
    if finding.source and any(finding.versions.get(n) != here[n] for n in ("tvm", "tvm_git")):
        return str(save_json(from_source(finding.source)))
    load_json(finding.module)
    return finding.module


def _script(item: Item) -> Outcome:
    path = item.path.resolve()  # as tracebacks name it
    code, stderr = reproducer.run(path)
    last = stderr.strip().splitlines()[-1] if stderr.strip() else ""
    if code == 0:
        return Outcome(item, Status.GONE, "")
    if code < 0 or code == HUNG:
        return Outcome(item, Status.FAILS, f"ended with {code}")
    if reproducer.prepared(path, stderr):
        kinds = re.findall(r"^((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b.*)", stderr, re.MULTILINE)
        return Outcome(item, Status.FAILS, kinds[-1] if kinds else last)
    return Outcome(item, Status.BROKEN, last)


def _open(folder: Path) -> Store:
    try:
        return Store(folder, create=False)
    except BadStore as error:
        raise Mistake(str(error)) from None


def _readable(store: Store) -> Iterator[Finding]:
    try:
        yield from store.findings()
    except UnknownFormat as error:
        raise Mistake(str(error)) from None
