"""Replay stored findings, reproducers and the files of a corpus: which of them fail?

The record of a corpus file names the versions of TVM on which it fails, and how. So the outcome is
compared with what is expected of the installed version; everything else only fails or not.
"""

from __future__ import annotations

import enum
import re
import signal
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ... import corpus
from ...compat import availability
from ...compat.release import versions
from ...oracles.catalogue import catalogue
from ...oracles.check import ORACLES
from ...oracles.pipelines import PIPELINES
from ...oracles.text import messages
from ...oracles.text.frames import condition_in
from .. import reproducer
from ..output.readable import sentence
from ..process.executor import Executor, JobFailed
from ..process.protocol import Death
from ..system import sanitizers
from ..system.files import write_whole
from ..system.sandbox import HUNG
from ..user_input.errors import UserError
from ..user_input.read_module import BadModule, load
from .confirm import DEATHS, again, of_this_build
from .finding import Finding
from .store import DATABASE, Store


class Status(enum.StrEnum):
    """What became of a finding."""

    AS_EXPECTED = "fails as expected"
    PASSES = "passes as expected"
    FIXED = "fixed"
    """It should fail on this version, as its record claims, and does not."""
    CHANGED = "changed"
    """It fails in another way than its record claims, or where it passed before."""
    FAILS = "still fails"
    GONE = "gone"
    BROKEN = "cannot be run"


HANG = "hang"

EXPECTED = frozenset({Status.AS_EXPECTED, Status.PASSES, Status.GONE})
"""Nobody has to look at these."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something to replay."""

    path: Path
    finding: Finding | None = None
    """None for a file that belongs to no store."""
    entry: corpus.Entry | None = None
    """The record of a corpus file."""

    @property
    def name(self) -> str:
        """What the table calls it."""
        if self.finding is None:
            return f"{self.path.parent.name}/{self.path.name}" if self.entry else self.path.name
        return f"{self.finding.label}: {self.finding.title}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out."""

    item: Item
    status: Status
    message: str
    """How it failed, or why it cannot be run, in one line; empty where it passes."""


def items(path: Path, warn: Callable[[str], None] = lambda message: None) -> Iterator[Item]:
    """What a path names: a folder of findings, `FOLDER/ID`, a reproducer file, a folder of them.

    Args:
        warn: is given a sentence on what cannot be read among others that can.

    Raises:
        UserError: it names nothing of that, or a file of a corpus has a header that cannot be read.
    """
    if path.is_file():
        if path.suffix != ".py":
            raise UserError(
                f"expected a folder of findings or a reproducer (*.py) but got '{path}'"
            )
        yield _file(path)
        return
    if (path / DATABASE).is_file():
        with Store(path, create=False) as store:
            for finding in store.findings():
                yield Item(path, finding)
            if store.complaint:
                warn(store.complaint)
        return
    if (path.parent / DATABASE).is_file():
        with Store(path.parent, create=False) as store:
            # In a list of findings the beginning of an id stands for it.
            found = [f for f in store.findings() if f.id.startswith(path.name)]
            unseen = store.get(path.name)
            if path.name in store.unread:
                raise UserError(f"'{path}' cannot be read: {store.unread[path.name]}")
        if not found and unseen is not None:
            found = [unseen]
        if len(found) != 1:
            what = "several findings begin with" if found else "no finding"
            raise UserError(f"{what} {path.name!r} in '{path.parent}'")
        yield Item(path.parent, found[0])
        return
    if not path.exists():
        raise UserError(f"nothing is at '{path}'")
    files = [file for file in sorted(path.rglob("*.py")) if reproducer.is_reproducer(file)]
    if not files:
        raise UserError(f"no findings in '{path}': neither {DATABASE} nor reproducers")
    yield from map(_file, files)


def _file(path: Path) -> Item:
    try:
        return Item(path, entry=corpus.entry(path))
    except ValueError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror or error}") from None


def replay(item: Item, executor: Executor | None) -> Outcome:
    """Run one item again, in a process of its own.

    Args:
        executor: runs findings of a store; files are run without it.

    Raises:
        ExecutorError: the harness failed.
    """
    if item.finding is None:
        return _script(item)
    assert executor is not None, f"{item.path}: a finding needs an executor"
    if (reason := unknown(item.finding)) is not None:
        return Outcome(item, Status.BROKEN, reason)
    try:
        violation = again(executor, item.finding, module_of(item.finding, executor))
    except BadModule as error:
        return Outcome(item, Status.BROKEN, f"its module does not load: {error}")
    except (JobFailed, UserError) as error:
        # A finding may come from anybody, and name what no oracle can check.
        last = str(error).strip().splitlines()[-1:] or ["there is no message"]
        return Outcome(item, Status.BROKEN, sentence(f"it cannot be checked: {last[0]}"))
    if violation is None:
        return Outcome(item, Status.GONE, "")
    return Outcome(item, Status.FAILS, violation.title)


def unknown(finding: Finding) -> str | None:
    """What a finding needs that this relaxfuzz does not have, or not on the installed TVM."""
    asked: list[tuple[str, str | None, Collection[str]]] = [
        ("oracle", finding.oracle, {*ORACLES, *DEATHS}),
        ("pipeline", finding.pipeline, PIPELINES),
        *(("pass", call.like, catalogue) for call in finding.calls),
    ]
    for what, name, there in asked:
        if name is None:
            continue
        if name not in there:
            return sentence(f"this relaxfuzz has no {what} {name!r}", 200)
        if reason := availability.current().of(what).get(name):
            return sentence(f"{what} {name} is not available on this TVM: {reason}", 200)
    preloaded = finding.oracle == Death.SANITIZER and finding.title.startswith(sanitizers.ADDRESS)
    if preloaded and not sanitizers.is_loaded():
        return f"it needs {sanitizers.ADDRESS}: set LD_PRELOAD as its reproducer says"
    return None


def module_of(finding: Finding, executor: Executor | None, *, well_formed: bool = False) -> str:
    """JSON that this TVM reads: of the stored one, or of source if another TVM wrote that.

    Either is read in processes of its own: source is code, and TVM may die of odd JSON.

    Args:
        executor: reads it; None: one that is started for it.
        well_formed: refuse a module that is not.

    Raises:
        BadModule: it cannot be read, for the reason in the message.
        ExecutorError: the harness failed.
    """
    source = "" if of_this_build(finding) else finding.source
    name = "module.py" if source else "module.json"
    return loaded(source or finding.module, name, executor, well_formed=well_formed)


def loaded(
    text: str, name: str, executor: Executor | None = None, *, well_formed: bool = False
) -> str:
    """The module in a text, as JSON; see `module_of`.

    Args:
        name: of a file with this text.
    """
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-module-") as folder:
        path = Path(folder) / name
        write_whole(path, text)
        return load(path, executor, well_formed=well_formed)


def _script(item: Item) -> Outcome:
    path = item.path.resolve()  # as tracebacks name it
    code, stderr = reproducer.run(path)
    seen = failure(code, stderr)
    if code > 0 and seen != HANG and not reproducer.raised_by_check(path, stderr):
        last = stderr.strip().splitlines()[-1] if stderr.strip() else f"exit code {code}"
        return Outcome(item, Status.BROKEN, last)
    if item.entry is not None:
        return _compared(item, item.entry, seen)
    if seen is None:
        return Outcome(item, Status.GONE, "")
    raised = reproducer.raised(stderr)
    text = seen if raised is None else f"{raised[0]}: {raised[1]}".partition("\n")[0]
    return Outcome(item, Status.FAILS, text)


def _compared(item: Item, entry: corpus.Entry, seen: str | None) -> Outcome:
    expected = entry.tvm.expects_failure(versions()["tvm"])
    if seen is None:
        return Outcome(item, Status.FIXED if expected else Status.PASSES, "")
    if expected and seen.startswith(entry.fails_with):
        return Outcome(item, Status.AS_EXPECTED, seen)
    before = f"before: {entry.fails_with}" if expected else str(entry.tvm)
    return Outcome(item, Status.CHANGED, f"{seen} ({before})")


def failure(code: int, stderr: str) -> str | None:
    """The failure of a script; None where it did not fail.

    `ValueError`, `InternalError: Check failed: ndim != 0`, `SIGSEGV`, `hang`: the class of an
    exception and the condition that failed, without the rest of the message.
    """
    if code == 0:
        return None
    if (report := sanitizers.report(stderr)) is not None:
        return f"{report.tool}: {messages.anonymous(report.kind)}"
    if code < 0:
        return signal.Signals(-code).name
    if code == HUNG or re.search(r"^Timeout \(", stderr, re.MULTILINE):
        return HANG
    raised = reproducer.raised(stderr)
    if raised is None:
        return f"exit code {code}"
    kind, condition = raised[0].rpartition(".")[2], condition_in(raised[1])
    return f"{kind}: Check failed: {condition}" if condition else kind
