"""Corpus files and known bugs as tests: each must fail or pass as recorded.

The header of a corpus file (see `corpus`) lists the versions of TVM on which it fails; on these it
is a strict expected failure. A reproducer without a header must pass. Each of the user's known bugs
with a reproducer is a test. They run in separate processes; TVM is imported when the first of them
runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ...compat.release import versions
from ...corpus import entry
from ..findings.script import is_reproducer
from ..output.readable import short_path
from .items import TextItem
from .options import CHOSEN, in_part
from .plan import ItemFailure


@pytest.hookimpl(trylast=True)  # after the settings have been read
def pytest_configure(config: pytest.Config) -> None:
    """Always collect the paths of options; those of pyproject.toml with the whole repository."""
    settings = config.stash[CHOSEN]
    everything = not in_part(config)
    chosen: list[Path] = []
    if everything or config.getoption("relaxfuzz_corpus"):
        chosen += settings.corpus
    if everything or config.getoption("relaxfuzz_known"):
        chosen += settings.known
    for path in chosen:
        if not path.exists():
            raise pytest.UsageError(f"relaxfuzz: no such file or folder: '{path}'")
        if str(path) not in config.args:
            config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a corpus file, or the record of a known bug."""
    settings = parent.config.stash[CHOSEN]
    if file_path.suffix == ".py" and _within(file_path, settings.corpus):
        return Reproducer.from_parent(parent, path=file_path) if is_reproducer(file_path) else None
    if file_path.suffix == ".toml" and _within(file_path, settings.known):
        return Reproducer.from_parent(parent, path=file_path)
    return None


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(each) for each in (*folders, *map(Path.resolve, folders)))


class Reproducer(pytest.File):
    """A corpus file, a reproducer, or the record of a known bug of the user's."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test."""
        if self.path.suffix == ".toml":
            yield _Replay.from_parent(self, name="known", of=_of_record)
            return
        try:
            entry(self.path)
        except ValueError as error:
            raise self.CollectError(str(error)) from None
        yield _Replay.from_parent(self, name="reproducer", of=_of_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A reproducer and the recorded facts about it."""

    file: Path
    report: tuple[str, ...] | None
    """The report of the bug, for JUnit's XML."""
    reason: str
    """The reason for an expected failure: the bug, and its report upstream."""
    fails: bool | None
    """True if the bug is recorded to fail on the installed TVM; None: the outcome tells."""
    mend: str
    """The advice for the day when it no longer fails."""


def _of_file(path: Path) -> _Case:
    """The case of a corpus file or a reproducer."""
    found, version = entry(path), versions()["tvm"]
    link = found.upstream[0] if found is not None and found.upstream else path.name
    lines = path.read_text(encoding="utf-8").partition("\n#\n")[0].splitlines()
    title = " ".join(line.removeprefix("#").strip() for line in lines)
    return _Case(
        file=path,
        report=None if found is None else (found.oracle, found.pass_name),
        reason=f"{title} ({link})",
        fails=None,
        mend=f"change the header of {short_path(path)}: 'tvm: fails on ...; fixed in {version}'",
    )


def _of_record(path: Path) -> _Case:
    """The case of a record of a known bug.

    Raises:
        ItemFailure: the file is not a record.
        Skipped: it has no reproducer.
    """
    from ...corpus.knowns import known
    from .results import reason

    try:
        bug = known(path)
    except ValueError as error:
        raise ItemFailure(str(error)) from None
    if bug.reproducer is None:
        pytest.skip("it has no reproducer")
    return _Case(
        file=bug.reproducer,
        report=bug.reports[0],
        reason=reason(bug),
        fails=bug.tvm.expects_failure(versions()["tvm"]),
        mend=f"change {short_path(path)}, or let "
        f"`relaxfuzz known --known {short_path(path.parent)} --prune` do it",
    )


class _Replay(TextItem):
    """The test of one case; it runs in a separate process."""

    def __init__(self, of: Callable[[Path], _Case], **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]  # as pytest gives them
        self._of = of

    def runtest(self) -> None:
        from ..reproducer.replay import ReplayItem, ReplayStatus, replay
        from ..reproducer.verify import NO_LONGER

        root = str(self.config.rootpath)
        if root not in sys.path:
            sys.path.append(root)  # a repository's own packages are there; processes inherit it
        case = self._of(self.path)
        self.user_properties.append(("relaxfuzz.reproducer", str(case.file)))
        if case.report is not None:
            report = json.dumps(case.report, ensure_ascii=False)
            self.user_properties.append(("relaxfuzz.report", report))
        outcome = replay(ReplayItem(case.file, entry=entry(case.file)), None)
        recorded = outcome.status in (ReplayStatus.AS_EXPECTED, ReplayStatus.FIXED)
        expected = recorded if case.fails is None else case.fails
        if outcome.status in NO_LONGER:
            if expected:
                raise ItemFailure(
                    f"[XPASS(strict)] fixed: {case.reason}\n{short_path(case.file)} no longer "
                    f"fails on TVM {versions()['tvm']}: {case.mend}"
                )
            return
        if expected and outcome.status in (ReplayStatus.AS_EXPECTED, ReplayStatus.FAILS):
            pytest.xfail(case.reason)
            raise ItemFailure(
                f"{case.reason}\n\n{outcome.message}"
            )  # --runxfail: xfail does nothing
        hint = f"See it again: relaxfuzz replay {short_path(case.file)}"
        raise ItemFailure(f"{outcome.status}: {outcome.message}\n\n{hint}")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}::{self.name}"
