"""See stored findings, reproducers and the files of a corpus again: which of them fail?

A file of a corpus says on which versions of TVM it fails, and how. So it is compared with what is
expected of the installed version; of everything else it is only seen whether it fails.
"""

from __future__ import annotations

import enum
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import corpus
from ..generators.source import from_source
from ..generators.tvm_api import load_json, save_json, versions
from ..oracles.keys import message
from . import reproducer
from .confirm import again
from .executor import Executor
from .finding import Finding
from .mistake import Mistake
from .runner import HUNG
from .store import DATABASE, Store


class Status(enum.StrEnum):
    """What became of a finding."""

    AS_EXPECTED = "fails as expected"
    PASSES = "passes as expected"
    FIXED = "fixed"
    """It fails on this version by what its header says, and does not."""
    CHANGED = "changed"
    """It fails in another way than its header says, or where it passed before."""
    FAILS = "still fails"
    GONE = "gone"
    BROKEN = "cannot be run"


HANG = "hang"

EXPECTED = frozenset({Status.AS_EXPECTED, Status.PASSES, Status.GONE})
"""Nobody has to look at these."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something to see again."""

    path: Path
    finding: Finding | None = None
    """None for a file that belongs to no store."""
    entry: corpus.Entry | None = None
    """What a file of a corpus says of itself."""

    @property
    def name(self) -> str:
        """What the table calls it."""
        if self.finding is None:
            return f"{self.path.parent.name}/{self.path.name}" if self.entry else self.path.name
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
        Mistake: it names nothing of that, or a file of a corpus has a header that cannot be read.
    """
    if path.is_file():
        if path.suffix != ".py":
            raise Mistake(f"expected a folder of findings or a reproducer (*.py) but got '{path}'")
        yield _file(path)
        return
    if (path / DATABASE).is_file():
        with Store(path, create=False) as store:
            for finding in store.findings():
                yield Item(path, finding)
        return
    if (path.parent / DATABASE).is_file():
        with Store(path.parent, create=False) as store:
            # In a list of findings the beginning of an id stands for it.
            found = [f for f in store.findings() if f.id.startswith(path.name)]
            unseen = store.get(path.name)
        if not found and unseen is not None:
            found = [unseen]
        if len(found) != 1:
            what = "several findings begin with" if found else "no finding"
            raise Mistake(f"{what} {path.name!r} in '{path.parent}'")
        yield Item(path.parent, found[0])
        return
    if not path.exists():
        raise Mistake(f"nothing is at '{path}'")
    files = [file for file in sorted(path.rglob("*.py")) if reproducer.is_reproducer(file)]
    if not files:
        raise Mistake(f"no findings in '{path}': neither {DATABASE} nor reproducers")
    yield from map(_file, files)


def _file(path: Path) -> Item:
    try:
        return Item(path, entry=corpus.entry(path))
    except ValueError as error:
        raise Mistake(str(error)) from None


def replay(item: Item, executor: Executor | None) -> Outcome:
    """See one item again, in a process of its own.

    Args:
        executor: runs findings of a store; files are run without it.

    Raises:
        ExecutorError: the harness failed.
    """
    if item.finding is None:
        return _script(item)
    assert executor is not None, f"{item.path}: a finding needs an executor"
    try:
        module = module_of(item.finding)
    except Exception as error:
        return Outcome(item, Status.BROKEN, f"its module does not load: {error}".split("\n")[0])
    violation = again(executor, item.finding, module)
    if violation is None:
        return Outcome(item, Status.GONE, "")
    return Outcome(item, Status.FAILS, violation.title)


def module_of(finding: Finding) -> str:
    """JSON that this TVM reads: the stored one, or made from source if another TVM wrote that.

    Raises:
        Exception: whatever TVM raises for what it cannot load.
    """
    here = versions()
    if finding.source and any(finding.versions.get(n) != here[n] for n in ("tvm", "tvm_git")):
        return str(save_json(from_source(finding.source)))
    load_json(finding.module)
    return finding.module


def _script(item: Item) -> Outcome:
    path = item.path.resolve()  # as tracebacks name it
    code, stderr = reproducer.run(path)
    seen = failure(code, stderr)
    if code > 0 and seen != HANG and not reproducer.prepared(path, stderr):
        last = stderr.strip().splitlines()[-1] if stderr.strip() else f"exit code {code}"
        return Outcome(item, Status.BROKEN, last)
    if item.entry is not None:
        return _compared(item, item.entry, seen)
    if seen is None:
        return Outcome(item, Status.GONE, "")
    raised = reproducer.raised(stderr)
    said = seen if raised is None else f"{raised[0]}: {raised[1]}".partition("\n")[0]
    return Outcome(item, Status.FAILS, said)


def _compared(item: Item, entry: corpus.Entry, seen: str | None) -> Outcome:
    """What came out of a file, beside what its header says of the installed version."""
    expected = entry.tvm.expects_failure(versions()["tvm"])
    if seen is None:
        return Outcome(item, Status.FIXED if expected else Status.PASSES, "")
    if expected and seen.startswith(entry.fails_with):
        return Outcome(item, Status.AS_EXPECTED, seen)
    before = f"before: {entry.fails_with}" if expected else f"fixed in {entry.tvm.fixed_in}"
    return Outcome(item, Status.CHANGED, f"{seen} ({before})")


def failure(code: int, stderr: str) -> str | None:
    """How a script failed, without the accidents of its message; None where it did not.

    `ValueError: Var <name> is not defined.`, `SIGSEGV`, `hang`: what `fails with` begins with.
    """
    if code == 0:
        return None
    if code < 0:
        return signal.Signals(-code).name
    if code == HUNG or re.search(r"^Timeout \(", stderr, re.MULTILINE):
        return HANG
    raised = reproducer.raised(stderr)
    if raised is None:
        return f"exit code {code}"
    kind, text = raised[0].rpartition(".")[2], message(raised[1])
    return f"{kind}: {text}" if text else kind
