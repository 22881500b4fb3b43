"""On which versions of TVM does a finding fail, and which is the first of them?

Its reproducer is run in an environment of each version. Failures are compared as by `relaxfuzz
replay`: exception and normalized message, signal, or hang.
"""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ...corpus.reading import LONGEST_GENERATED, read_text
from .. import reproducer
from ..findings.finding import Finding
from ..findings.replay import HANG, Item, failure, items
from ..findings.store import Store
from ..system.files import write_whole
from ..system.scratch import scratch
from ..system.subprocesses import Ended, Subprocesses
from ..user_input.errors import UserError
from .environments import Choice, Environment, Report, Unusable, environment, variables

SECONDS = 120.0
"""For one run, the import of TVM included, on a busy machine."""

MANY = 6
"""Of more versions than this not all are run: the first bad one is found by binary search."""

_NEEDS_RELAXFUZZ = re.compile(r"^\s*(?:from|import) relaxfuzz\b", re.MULTILINE)


class Status(enum.StrEnum):
    """How a reproducer ends with one version."""

    GOOD = "good"
    """It succeeds."""
    BAD = "bad"
    """It fails as the finding says."""
    OTHER = "other"
    """It fails in another way, or cannot be run."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How a finding fails, in the words of `relaxfuzz replay`."""

    text: str
    complete: bool
    """False: how it begins, as in a corpus, where accidents at the end are left out."""

    def matches(self, failure: str) -> bool:
        """It is the same failure."""
        if self.complete:
            return _without_function(failure) == _without_function(self.text)
        return failure.startswith(self.text)


def _without_function(text: str) -> str:
    """Without a function printed at the end: some versions print it, others only its place."""
    return text.removesuffix("<function>").rstrip(": ")


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of the reproducer with one version."""

    choice: Choice
    about: Mapping[str, str]
    """What is in the environment; empty if there is none."""
    failure: str | None = None
    """How it failed; None if it succeeded, or could not be run."""
    error: str | None = None
    """Why it could not be run."""

    @property
    def release(self) -> str:
        """The version of TVM, with the commit of a user's own build if that is known."""
        if isinstance(self.choice, str):
            return self.choice
        commit = self.about.get("tvm_git", "unknown")
        version = self.about.get("tvm", "unknown")
        return version if commit == "unknown" else f"{version} ({commit[:12]})"

    def status(self, expected: Failure | None) -> Status:
        """
        Args:
            expected: how the finding fails; None if no version failed at all.
        """
        if self.error is None and self.failure is None:
            return Status.GOOD
        if self.failure is not None and expected is not None and expected.matches(self.failure):
            return Status.BAD
        return Status.OTHER


@dataclass(frozen=True, slots=True)
class Verdict:
    """Trials in the order of the versions, and what follows from them."""

    trials: tuple[Trial, ...]
    expected: Failure | None
    """What bad means; None if no version failed at all."""

    def status(self, trial: Trial) -> Status:
        """Good, bad or other."""
        return trial.status(self.expected)

    def message(self, trial: Trial) -> str:
        """How a trial failed, or why it could not be run; empty if it is good."""
        if trial.error is not None:
            return trial.error
        other = "fails otherwise: " if self.status(trial) is Status.OTHER else ""
        return f"{other}{trial.failure or ''}"

    @property
    def first_bad(self) -> Trial | None:
        """The first that fails as the finding says."""
        return self._first(Status.BAD, self.trials)

    @property
    def last_good(self) -> Trial | None:
        """The last good one before that."""
        return self._first(Status.GOOD, tuple(reversed(self._earlier)))

    @property
    def inconclusive(self) -> tuple[Trial, ...]:
        """Those between the two, any of which may be the first bad one."""
        begin = 0 if self.last_good is None else self._earlier.index(self.last_good) + 1
        return self._earlier[begin:]

    @property
    def fixed_in(self) -> Trial | None:
        """The first good one after the last bad one."""
        bad = [i for i, trial in enumerate(self.trials) if self.status(trial) is Status.BAD]
        return self._first(Status.GOOD, self.trials[bad[-1] :] if bad else ())

    @property
    def _earlier(self) -> tuple[Trial, ...]:
        return () if self.first_bad is None else self.trials[: self.trials.index(self.first_bad)]

    def _first(self, status: Status, trials: tuple[Trial, ...]) -> Trial | None:
        return next((trial for trial in trials if self.status(trial) is status), None)


def item(path: Path) -> tuple[Item, Path]:
    """The one finding that a path names, and the file that reproduces it.

    Raises:
        UserError: it names none or several, or the finding has no reproducer.
    """
    found = list(items(path))
    if len(found) != 1:
        raise UserError(f"expected one finding, as in '{path}/ID', but '{path}' has {len(found)}")
    (one,) = found
    if one.finding is None:
        return one, one.path.resolve()  # as tracebacks name it
    with Store(one.path, create=False) as store:
        script = store.reproducer(one.finding)
    if script is None:
        raise UserError(f"finding {one.finding.id} has no reproducer to run on another TVM")
    return one, portable(one.finding, script)


def portable(finding: Finding, script: Path) -> Path:
    """The reproducer of a finding as a file that does not depend on the version of TVMScript."""
    text = read_text(script, LONGEST_GENERATED)
    path = scratch() / script.name
    write_whole(path, reproducer.portable(text, finding))
    return path.resolve()


class Bisection:
    """Runs one file in several environments."""

    def __init__(
        self,
        script: Path,
        choices: Sequence[Choice],
        subprocesses: Subprocesses,
        report: Report,
        *,
        fails_with: str | None = None,
        recreate: bool = False,
        workers: int = 1,
    ) -> None:
        """
        Args:
            report: called with each line of progress, in several threads.
            fails_with: how its failure begins; None: as it fails with the TVM of this process, or,
                if it does not, as it fails on the newest version that it fails on.
            recreate: install the environments of versions anew.
            workers: number of runs at the same time.
        """
        self._script = script
        self._choices = choices
        self._subprocesses = subprocesses
        self._report = report
        self._fails_with = fails_with
        self._recreate = recreate
        self._workers = workers
        text = script.read_text(encoding="utf-8", errors="replace")
        self._needs_relaxfuzz = bool(_NEEDS_RELAXFUZZ.search(text))

    def run(self) -> Verdict:
        """Run it with each version, or, if there are many, with as many as it takes.

        Raises:
            Stopped: the subprocesses were stopped.
        """
        expected = self._expected()
        if len(self._choices) > MANY:
            return self._search(expected)
        with ThreadPoolExecutor(self._workers) as threads:
            trials = tuple(threads.map(self._try, self._choices))
        failures = [trial.failure for trial in trials if trial.failure is not None]
        if expected is None and failures:
            expected = Failure(failures[-1], complete=True)
        return Verdict(trials, expected)

    def _search(self, expected: Failure | None) -> Verdict:
        """Binary search for the first bad version, as if the bug had come once and stayed."""
        trials: dict[int, Trial] = {}

        def status(at: int) -> Status:
            nonlocal expected
            trial = trials[at] = self._try(self._choices[at])
            if expected is None and trial.failure is not None:
                expected = Failure(trial.failure, complete=True)
            return trial.status(expected)

        newest_first = reversed(range(len(self._choices)))
        bad = next((at for at in newest_first if status(at) is Status.BAD), 0)
        good = -1
        while untried := [at for at in range(good + 1, bad) if at not in trials]:
            middle = untried[len(untried) // 2]
            match status(middle):
                case Status.BAD:
                    bad = middle
                case Status.GOOD:
                    good = middle
        return Verdict(tuple(trials[at] for at in sorted(trials)), expected)

    def _expected(self) -> Failure | None:
        if self._fails_with is not None:
            return Failure(self._fails_with, complete=False)
        self._report("running with the TVM of this process")
        here = Path(sys.executable)
        failure = self._run(here, Environment(here, {}, ours=False)).failure
        return None if failure is None else Failure(failure, complete=True)

    def _try(self, choice: Choice) -> Trial:
        def report(line: str) -> None:
            self._report(f"{choice}: {line}")

        if self._needs_relaxfuzz and isinstance(choice, str):
            return Trial(choice, {}, error="it needs relaxfuzz: give a Python that has that, too")
        try:
            made = environment(choice, self._subprocesses, report, recreate=self._recreate)
        except (Unusable, UserError) as error:
            return Trial(choice, {}, error=str(error))
        if self._needs_relaxfuzz and not made.has_relaxfuzz:
            return Trial(choice, made.about, error="it needs relaxfuzz, which is not there")
        report("running")
        return self._run(choice, made)

    def _run(self, choice: Choice, made: Environment) -> Trial:
        ended = self._execute(made)
        if reproducer.raised(ended.stderr) is None and _HIDDEN in ended.stdout + ended.stderr:
            ended = self._execute(made, TVM_BACKTRACE="1")
        failed = failure(ended.code, ended.stderr)
        if failed in (None, HANG) or ended.code < 0:
            return Trial(choice, made.about, failed)
        if not reproducer.raised_by_check(self._script, ended.stderr):
            raised = reproducer.raised(ended.stderr)
            why = f"exit code {ended.code}" if raised is None else ": ".join(raised)
            why = why.partition("\n")[0]
            return Trial(choice, made.about, error=f"it does not get to its check: {why}")
        return Trial(choice, made.about, failed)

    def _execute(self, made: Environment, **extra: str) -> Ended:
        return self._subprocesses.run(
            [made.python, self._script],
            seconds=SECONDS,
            variables=variables(ours=made.ours) | extra,
        )


_HIDDEN = "run with `TVM_BACKTRACE=1`"
"""What TVM's hook prints with its diagnostics instead of where they come from."""
