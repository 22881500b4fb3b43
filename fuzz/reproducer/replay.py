"""Replays stored findings, reproducers and the files of a corpus, to see which of them fail.

The record of a corpus file names the failure and the versions of TVM with it. So its outcome is
compared with the expectation for the installed version. All other items just fail or pass.
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
from ...oracles.catalogue import catalogue, is_users_contract
from ...oracles.check import ORACLES
from ...oracles.pipelines import PIPELINES, is_own
from ...oracles.text.frames import condition_in
from .. import reproducer
from ..findings.confirm import DEATHS, again, of_this_build
from ..findings.finding import Finding
from ..findings.listed import DATABASE, find
from ..findings.store import Store
from ..loading.read_module import BadModule, load
from ..output.readable import sentence
from ..process.executor import Executor, JobFailed
from ..system.errors import UserError
from ..system.files import write_whole
from ..system.sandbox import HUNG


class ReplayStatus(enum.StrEnum):
    """The outcome of a replay."""

    AS_EXPECTED = "fails as expected"
    PASSES = "passes as expected"
    FIXED = "fixed"
    """According to its record it should fail on this version, but does not."""
    CHANGED = "changed"
    """It fails differently from its record, or on a version on which it passed before."""
    FAILS = "still fails"
    GONE = "gone"
    BROKEN = "cannot be run"


HANG = "hang"

EXPECTED = frozenset({ReplayStatus.AS_EXPECTED, ReplayStatus.PASSES, ReplayStatus.GONE})
"""Outcomes that need no attention."""


@dataclass(frozen=True, slots=True)
class ReplayItem:
    """Something to replay."""

    path: Path
    finding: Finding | None = None
    """The finding; None for a file that does not belong to a store."""
    entry: corpus.CorpusEntry | None = None
    """The record of a corpus file."""

    @property
    def name(self) -> str:
        """Its name in the table."""
        if self.finding is None:
            return f"{self.path.parent.name}/{self.path.name}" if self.entry else self.path.name
        return f"{self.finding.label}: {self.finding.title}"


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The result of one replay."""

    item: ReplayItem
    status: ReplayStatus
    message: str
    """The failure, or the reason why it cannot be run, in one line; empty if it passes."""


def items(path: Path, warn: Callable[[str], None] = lambda message: None) -> Iterator[ReplayItem]:
    """The items at a path: a folder of findings, `FOLDER/ID`, a reproducer, or a folder of them.

    Args:
        warn: receives a sentence about unreadable items among readable ones.

    Raises:
        UserError: there is nothing of that kind, or a corpus file has an unreadable header.
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
                yield ReplayItem(path, finding)
            if store.complaint:
                warn(store.complaint)
        return
    if (path.parent / DATABASE).is_file():
        with Store(path.parent, create=False) as store:
            unconfirmed = store.get(path.name)
            by_id = {} if unconfirmed is None else {unconfirmed.id: unconfirmed}
            by_id |= {each.id: each for each in store.findings()}
            if path.name in store.unread:
                raise UserError(f"'{path}' cannot be read: {store.unread[path.name]}")
        yield ReplayItem(path.parent, find(by_id, path.name))
        return
    if not path.exists():
        raise UserError(f"nothing is at '{path}'")
    files = [file for file in sorted(path.rglob("*.py")) if reproducer.is_reproducer(file)]
    if not files:
        raise UserError(f"no findings in '{path}': neither {DATABASE} nor reproducers")
    yield from map(_file, files)


def _file(path: Path) -> ReplayItem:
    try:
        return ReplayItem(path, entry=corpus.entry(path))
    except ValueError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror or error}") from None


def replay(item: ReplayItem, executor: Executor | None) -> ReplayOutcome:
    """Run one item again, in a separate process.

    Args:
        executor: runs findings of a store; files do not need it.

    Raises:
        ExecutorError: the harness failed.
    """
    if item.finding is None:
        return _script(item)
    assert executor is not None, f"{item.path}: a finding needs an executor"
    if (reason := unknown(item.finding)) is not None:
        return ReplayOutcome(item, ReplayStatus.BROKEN, reason)
    try:
        violation = again(executor, item.finding, module_of(item.finding, executor))
    except BadModule as error:
        return ReplayOutcome(item, ReplayStatus.BROKEN, f"its module does not load: {error}")
    except (JobFailed, UserError) as error:
        # The finding is untrusted, and may name things that no oracle can check.
        last = str(error).strip().splitlines()[-1:] or ["there is no message"]
        return ReplayOutcome(
            item, ReplayStatus.BROKEN, sentence(f"it cannot be checked: {last[0]}")
        )
    if violation is None:
        return ReplayOutcome(item, ReplayStatus.GONE, "")
    return ReplayOutcome(item, ReplayStatus.FAILS, violation.title)


def unknown(finding: Finding) -> str | None:
    """The reason why this relaxfuzz, or the installed TVM, cannot run a finding; None if it can."""
    own = [finding.pipeline] if finding.pipeline and is_own(finding.pipeline) else []
    asked: list[tuple[str, str | None, Collection[str]]] = [
        ("oracle", finding.oracle, {*ORACLES, *DEATHS}),
        ("pipeline", finding.pipeline, (*PIPELINES, *own)),
        *(("pass", call.like, catalogue) for call in finding.calls if not is_users_contract(call)),
    ]
    for what, name, there in asked:
        if name is None:
            continue
        if name not in there:
            return sentence(f"this relaxfuzz has no {what} {name!r}", 200)
        if reason := availability.current().of(what).get(name):
            return sentence(f"{what} {name} is not available on this TVM: {reason}", 200)
    return None


def module_of(finding: Finding, executor: Executor | None, *, well_formed: bool = False) -> str:
    """The module as JSON that this TVM reads: as stored, or from source if another TVM wrote it.

    Both are read in a separate process: source is code, and TVM may crash on odd JSON.

    Args:
        executor: reads it; None: start one for it.
        well_formed: refuse an ill-formed module.

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
        name: name for a file with this text.
    """
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-module-") as folder:
        path = Path(folder) / name
        write_whole(path, text)
        return load(path, executor, well_formed=well_formed)


def _script(item: ReplayItem) -> ReplayOutcome:
    path = item.path.resolve()  # the form in tracebacks
    code, stderr = reproducer.run(path)
    seen = failure(code, stderr)
    if code > 0 and seen != HANG and not reproducer.raised_by_check(path, stderr):
        last = stderr.strip().splitlines()[-1] if stderr.strip() else f"exit code {code}"
        return ReplayOutcome(item, ReplayStatus.BROKEN, last)
    if item.entry is not None:
        return _compared(item, item.entry, seen)
    if seen is None:
        return ReplayOutcome(item, ReplayStatus.GONE, "")
    raised = reproducer.raised(stderr)
    text = seen if raised is None else f"{raised[0]}: {raised[1]}".partition("\n")[0]
    return ReplayOutcome(item, ReplayStatus.FAILS, text)


def _compared(item: ReplayItem, entry: corpus.CorpusEntry, seen: str | None) -> ReplayOutcome:
    expected = entry.tvm.expects_failure(versions()["tvm"])
    if seen is None:
        return ReplayOutcome(item, ReplayStatus.FIXED if expected else ReplayStatus.PASSES, "")
    if expected and seen.startswith(entry.fails_with):
        return ReplayOutcome(item, ReplayStatus.AS_EXPECTED, seen)
    before = f"before: {entry.fails_with}" if expected else str(entry.tvm)
    return ReplayOutcome(item, ReplayStatus.CHANGED, f"{seen} ({before})")


def failure(code: int, stderr: str) -> str | None:
    """The failure of a script; None if it did not fail.

    Examples: `ValueError`, `InternalError: Check failed: ndim != 0`, `SIGSEGV`, `hang`. An
    exception is reduced to its class and the condition that failed.
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
    kind, condition = raised[0].rpartition(".")[2], condition_in(raised[1])
    return f"{kind}: Check failed: {condition}" if condition else kind
