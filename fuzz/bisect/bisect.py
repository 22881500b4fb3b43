"""On which versions of TVM does a finding fail, and which is the first of them?

Its reproducer is run in an environment of each version. What counts as the same failure is what
`relaxfuzz replay` compares: exception and message without their accidents, signal, or hang.
"""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from .. import reproducer
from ..findings.replay import HANG, Item, failure, items
from ..findings.store import Store
from ..system.subprocesses import Ended, Subprocesses
from ..user_input.mistake import Mistake
from . import environments
from .environments import Choice, Environment, Unusable

SECONDS = 120.0
"""For one run, the import of TVM included, on a busy machine."""

MANY = 6
"""Of more versions than this not all are run: the first bad one is searched for."""

_NEEDS_RELAXFUZZ = re.compile(r"^\s*(?:from|import) relaxfuzz\b", re.MULTILINE)


class Status(enum.StrEnum):
    """What one version makes of a finding."""

    GOOD = "good"
    """It ends well."""
    BAD = "bad"
    """It fails as the finding says."""
    OTHER = "other"
    """It fails otherwise, or cannot be run."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How a finding fails, in the words of `relaxfuzz replay`."""

    said: str
    whole: bool
    """All of it; else how it begins, as in a corpus, where accidents at the end are left out."""

    def matches(self, seen: str) -> bool:
        """It is the same failure."""
        if self.whole:
            return _unlisted(seen) == _unlisted(self.said)
        return seen.startswith(self.said)


def _unlisted(said: str) -> str:
    """Without a function printed at the end: some versions print it, some only where it is."""
    return said.removesuffix("<function>").rstrip(": ")


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one version."""

    choice: Choice
    about: Mapping[str, str]
    """What is in the environment; empty where there is none."""
    failed: str | None = None
    """How it failed; None where it ended well, or could not be run."""
    trouble: str | None = None
    """Why it could not be run."""

    @property
    def release(self) -> str:
        """The version of TVM, with the commit of a user's own build if that is known."""
        if isinstance(self.choice, str):
            return self.choice
        commit = self.about.get("tvm_git", "unknown")
        version = self.about.get("tvm", "unknown")
        return version if commit == "unknown" else f"{version} ({commit[:12]})"


@dataclass(frozen=True, slots=True)
class Trial:
    """What is made of it."""

    seen: Seen
    status: Status
    said: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Trials in the order of the versions, and what follows from them."""

    trials: tuple[Trial, ...]
    expected: Failure | None
    """What bad means; None where no version failed at all."""

    @property
    def first_bad(self) -> Trial | None:
        """The first that fails as the finding says."""
        return next((trial for trial in self.trials if trial.status is Status.BAD), None)

    @property
    def last_good(self) -> Trial | None:
        """The last good one before that."""
        good = (trial for trial in reversed(self._earlier) if trial.status is Status.GOOD)
        return next(good, None)

    @property
    def silent(self) -> tuple[Trial, ...]:
        """Those between the two, any of which may be the first bad one: they cannot say."""
        begin = 0 if self.last_good is None else self._earlier.index(self.last_good) + 1
        return self._earlier[begin:]

    @property
    def good_again(self) -> Trial | None:
        """The first good one after the last bad one: there it was mended."""
        bad = [i for i, trial in enumerate(self.trials) if trial.status is Status.BAD]
        later = self.trials[bad[-1] :] if bad else ()
        return next((trial for trial in later if trial.status is Status.GOOD), None)

    @property
    def _earlier(self) -> tuple[Trial, ...]:
        return () if self.first_bad is None else self.trials[: self.trials.index(self.first_bad)]


def item(path: Path) -> tuple[Item, Path]:
    """The one finding that a path names, and the file that reproduces it.

    Raises:
        Mistake: it names none or several, or the finding has no reproducer.
    """
    found = list(items(path))
    if len(found) != 1:
        raise Mistake(f"expected one finding, as in '{path}/ID', but '{path}' has {len(found)}")
    (one,) = found
    if one.finding is None:
        return one, one.path.resolve()  # as tracebacks name it
    with Store(one.path, create=False) as store:
        script = store.reproducer(one.finding)
    if script is None:
        raise Mistake(f"finding {one.finding.id} has no reproducer to run on another TVM")
    return one, script.resolve()


class Bisection:
    """Runs one file in several environments."""

    def __init__(
        self,
        script: Path,
        choices: Sequence[Choice],
        subprocesses: Subprocesses,
        tell: Callable[[str], None],
        *,
        fails_with: str | None = None,
        recreate: bool = False,
        workers: int = 1,
    ) -> None:
        """
        Args:
            tell: told what is being done; from several threads.
            fails_with: how its failure begins; None: as it fails here, with the TVM of this
                process, or where it does not, as it fails on the newest version that it fails on.
            recreate: make our environments anew.
            workers: so many at the same time.
        """
        self._script = script
        self._choices = choices
        self._subprocesses = subprocesses
        self._tell = tell
        self._fails_with = fails_with
        self._recreate = recreate
        self._workers = workers
        text = script.read_text(encoding="utf-8", errors="replace")
        self._needs_relaxfuzz = bool(_NEEDS_RELAXFUZZ.search(text))

    @property
    def searches(self) -> bool:
        """There are too many to run them all."""
        return len(self._choices) > MANY

    def run(self) -> Verdict:
        """See what every version makes of it, or of many as many as it takes.

        Raises:
            Stopped: the subprocesses were stopped.
        """
        expected = self._expected()
        if self.searches:
            return self._search(expected)
        with ThreadPoolExecutor(self._workers) as threads:
            futures = {threads.submit(self._see, c): i for i, c in enumerate(self._choices)}
            seen = {futures[done]: done.result() for done in as_completed(futures)}
        ordered = [seen[i] for i in sorted(seen)]
        failed = [one.failed for one in ordered if one.failed is not None]
        if expected is None and failed:
            expected = Failure(failed[-1], whole=True)
        return Verdict(tuple(judged(one, expected) for one in ordered), expected)

    def _search(self, expected: Failure | None) -> Verdict:
        """Halve the versions before a bad one, as if the bug had come once and stayed."""
        trials: dict[int, Trial] = {}

        def status(at: int) -> Status:
            nonlocal expected
            seen = self._see(self._choices[at])
            if expected is None and seen.failed is not None:
                expected = Failure(seen.failed, whole=True)
            trials[at] = judged(seen, expected)
            return trials[at].status

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
            return Failure(self._fails_with, whole=False)
        self._tell("running it with the TVM of this process")
        seen = self._run(Path(sys.executable), Environment(Path(sys.executable), {}, ours=False))
        return None if seen.failed is None else Failure(seen.failed, whole=True)

    def _see(self, choice: Choice) -> Seen:
        def tell(line: str) -> None:
            self._tell(f"{choice}: {line}")

        if self._needs_relaxfuzz and isinstance(choice, str):
            return Seen(choice, {}, trouble="it needs relaxfuzz: name a Python that has that, too")
        try:
            made = environments.environment(
                choice, self._subprocesses, tell, recreate=self._recreate
            )
        except Unusable as error:
            return Seen(choice, {}, trouble=str(error))
        if self._needs_relaxfuzz and not environments.has_relaxfuzz(made, self._subprocesses):
            return Seen(choice, made.about, trouble="it needs relaxfuzz, which is not there")
        tell("running")
        return self._run(choice, made)

    def _run(self, choice: Choice, made: Environment) -> Seen:
        ended = self._execute(made)
        if reproducer.raised(ended.stderr) is None and _HIDDEN in ended.stdout + ended.stderr:
            ended = self._execute(made, TVM_BACKTRACE="1")
        failed = failure(ended.code, ended.stderr)
        if failed in (None, HANG) or ended.code < 0:
            return Seen(choice, made.about, failed)
        if not reproducer.prepared(self._script, ended.stderr):
            why = _exception(ended.stderr) or f"exit code {ended.code}"
            return Seen(choice, made.about, trouble=f"it does not get to its check: {why}")
        return Seen(choice, made.about, failed)

    def _execute(self, made: Environment, **variables: str) -> Ended:
        return self._subprocesses.run(
            [made.python, self._script],
            seconds=SECONDS,
            variables=environments.variables(made) | variables,
        )


_HIDDEN = "run with `TVM_BACKTRACE=1`"
"""What TVM's hook says of its diagnostics instead of showing where they come from."""


def _exception(stderr: str) -> str | None:
    """Type and first line of what was raised."""
    raised = reproducer.raised(stderr)
    return None if raised is None else f"{raised[0]}: {raised[1]}".partition("\n")[0]


def judged(seen: Seen, expected: Failure | None) -> Trial:
    """Good, bad or other."""
    if seen.trouble is not None:
        return Trial(seen, Status.OTHER, seen.trouble)
    if seen.failed is None:
        return Trial(seen, Status.GOOD, "")
    if expected is not None and expected.matches(seen.failed):
        return Trial(seen, Status.BAD, seen.failed)
    return Trial(seen, Status.OTHER, f"fails otherwise: {seen.failed}")
