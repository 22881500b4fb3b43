"""Corpus files and known bugs as tests: each must fail, or pass, as it is recorded.

The header of a corpus file (see `corpus`) lists the versions of TVM on which it fails: there it is
a strict expected failure. A reproducer without a header must pass. Each known bug of the user's
that has a reproducer is a test. They run in processes of their own; TVM is imported when the first
of them runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ...corpus import Entry, entry
from ..findings.script import is_reproducer
from ..output.readable import short_path
from .items import TextItem
from .options import SETTINGS, in_part
from .plan import Failure

if TYPE_CHECKING:
    from ..findings.replay import Outcome


@pytest.hookimpl(trylast=True)  # when the settings have been read
def pytest_configure(config: pytest.Config) -> None:
    """Collect the paths of options always, those of pyproject.toml with the whole repository."""
    settings = config.stash[SETTINGS]
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
    """A corpus file, or the record of a known bug."""
    settings = parent.config.stash[SETTINGS]
    if file_path.suffix == ".py" and _within(file_path, settings.corpus):
        return Reproducer.from_parent(parent, path=file_path) if is_reproducer(file_path) else None
    if file_path.suffix == ".toml" and _within(file_path, settings.known):
        return Known.from_parent(parent, path=file_path)
    return None


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(each) for each in (*folders, *map(Path.resolve, folders)))


class Reproducer(pytest.File):
    """A corpus file, or a reproducer."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test."""
        try:
            header = entry(self.path)
        except ValueError as error:
            raise self.CollectError(str(error)) from None
        yield _OfCorpus.from_parent(self, name="reproducer", entry=header)


class Known(pytest.File):
    """The record of a known bug of the user's."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test, if it has a reproducer."""
        yield _OfKnown.from_parent(self, name="known")


class _Replay(TextItem):
    def replay(self, path: Path) -> Outcome:
        """Run the reproducer in a process of its own."""
        from ..findings.replay import Item, replay

        root = str(self.config.rootpath)
        if root not in sys.path:
            sys.path.append(root)  # where a repository's own packages are: processes inherit it
        self.user_properties.append(("relaxfuzz.reproducer", str(path)))
        return replay(Item(path, entry=entry(path)), None)

    def expected(self, reason: str, outcome: Outcome) -> None:
        """It fails as recorded.

        Raises:
            xfail.Exception, or Failure under --runxfail.
        """
        pytest.xfail(reason)
        raise Failure(f"{reason}\n\n{outcome.message}")  # --runxfail: xfail does nothing

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}::{self.name}"


class _OfCorpus(_Replay):
    def __init__(self, entry: Entry | None, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]  # as pytest gives them
        self.entry = entry

    def runtest(self) -> None:
        from ...compat.release import versions
        from ..findings.replay import Status

        outcome = self.replay(self.path)
        if self.entry is not None:
            _report(self, (self.entry.oracle, self.entry.pass_name))
        match outcome.status:
            case Status.PASSES | Status.GONE:
                return
            case Status.AS_EXPECTED:
                assert self.entry is not None, "only a header expects anything"
                link = self.entry.upstream[0] if self.entry.upstream else self.path.name
                self.expected(f"{_title(self.path)} ({link})", outcome)
            case Status.FIXED:
                version = versions()["tvm"]
                raise Failure(
                    f"[XPASS(strict)] fixed: change the header of {short_path(self.path)}\n"
                    f"It no longer fails on TVM {version}: "
                    f"'tvm: fails on ...; fixed in {version}'"
                )
            case Status.FAILS:
                raise Failure(f"{outcome.message}\n\n{_hint(self.path)}")
        raise Failure(f"{outcome.status}: {outcome.message}\n\n{_hint(self.path)}")


class _OfKnown(_Replay):
    def runtest(self) -> None:
        from ...compat.release import versions
        from ...corpus.knowns import known
        from ..findings.known import NO_LONGER
        from ..findings.replay import Status
        from .results import reason

        try:
            bug = known(self.path)
        except ValueError as error:
            raise Failure(str(error)) from None
        if bug.reproducer is None:
            pytest.skip("it has no reproducer")
        version = versions()["tvm"]
        expected = bug.tvm.expects_failure(version)
        outcome = self.replay(bug.reproducer)
        _report(self, bug.reports[0])
        gone = outcome.status in NO_LONGER
        if outcome.status in (Status.FAILS, Status.AS_EXPECTED) and expected:
            self.expected(reason(bug), outcome)
        if gone and expected:
            raise Failure(
                f"[XPASS(strict)] fixed: {reason(bug)}\n"
                f"{short_path(bug.reproducer)} no longer fails on TVM {version}: change "
                f"{short_path(self.path)}, or let "
                f"`relaxfuzz known --known {short_path(self.path.parent)} --prune` do it"
            )
        if not gone:
            raise Failure(f"{outcome.status}: {outcome.message}\n\n{_hint(bug.reproducer)}")


def _title(path: Path) -> str:
    """The first lines of a corpus file, up to the empty line of its header."""
    lines = path.read_text(encoding="utf-8").partition("\n#\n")[0].splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines)


def _report(item: pytest.Item, report: tuple[str, ...]) -> None:
    item.user_properties.append(("relaxfuzz.report", json.dumps(report, ensure_ascii=False)))


def _hint(path: Path) -> str:
    return f"See it again: relaxfuzz replay {short_path(path)}"
