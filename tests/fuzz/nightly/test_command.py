"""The command `nightly`: its output, the runs after it, and interrupted runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from relaxfuzz.fuzz.campaign import triage
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.nightly import night as nightly
from relaxfuzz.fuzz.output.events import SCHEMA
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session import session
from relaxfuzz.fuzz.system.lock import alone
from tests.fuzz.sharing import probe_here, share_pool

USER = Path(__file__).parents[1] / "user_passes.py"

SETTINGS = """
passes = ["mine.py:marks"]
modules = 3
workers = 1
fail-on = "C"
oracles = ["idempotent"]
corpus = ["bugs"]
[promises."mine.py:marks"]
stages = ["raw"]
[report]
markdown = "out/summary.md"
jsonl = "out/findings.jsonl"
"""

BACK = """\
# pass: FuseOps
# oracle: crash
# key: ["crash", "FuseOps", "ValueError"]
# tvm: fails on 0.1; fixed in 0.2
# fails with: ValueError: no
# promise: none
if __name__ == "__main__":
    raise ValueError("no")
"""


@pytest.fixture(scope="module", autouse=True)
def _one_pool(pool: LocalPool) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        share_pool(patch, pool, session)
        probe_here(patch)
        yield


@dataclass
class Night:
    """What came of one."""

    code: int
    events: list[dict[str, object]]

    def of(self, kind: str) -> list[dict[str, object]]:
        return [event for event in self.events if event["event"] == kind]

    @property
    def summary(self) -> dict[str, object]:
        (one,) = self.of("summary")
        return one


def night(folder: Path, *options: str) -> Night:
    result = CliRunner().invoke(app, ["nightly", str(folder / "nightly.toml"), "--json", *options])
    assert result.exit_code in (0, 1), result.stderr
    return Night(result.exit_code, [json.loads(line) for line in result.stdout.splitlines()])


def place(folder: Path) -> Path:
    """A repository with passes and a corpus."""
    shutil.copyfile(USER, folder / "mine.py")
    (folder / "bugs").mkdir()
    (folder / "bugs" / "back.py").write_text(BACK)
    (folder / "nightly.toml").write_text(SETTINGS)
    return folder


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return place(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def first(repository: Path) -> Night:
    return night(repository, "--modules", "5000", "--until-first")


def test_the_first_night_reports_what_is_new_and_what_is_back(
    first: Night, repository: Path
) -> None:
    assert first.code == 1
    assert first.of("night") == [{"schema": SCHEMA, "event": "night", "seed": 0, "done": []}]
    (replayed,) = first.of("replay")
    assert (replayed["name"], replayed["status"]) == ("bugs/back.py", "is back")
    (found,) = first.of("finding")
    assert (found["pass"], found["oracle"]) == ("marks", "idempotent")
    assert first.summary["new"] == [found["row"]]
    assert first.summary["grades"] == {found["row"]: found["grade"]} == {found["row"]: "C"}
    assert first.summary["back"] == ["bugs/back.py"]
    assert 0 < int(str(first.summary["modules"])) < 5000, "it should end with the first finding"
    assert first.summary["over"] is True
    written = [Path(str(event["path"])) for event in first.of("report")]
    assert {path.relative_to(repository).as_posix() for path in written} == {
        "out/summary.md", "out/findings.jsonl"
    }  # fmt: skip
    assert all("marks" in path.read_text() for path in written)


def test_the_next_night_makes_other_modules_and_has_no_news(first: Night, repository: Path) -> None:
    second = night(repository, "--until-first")
    assert second.code == 0
    assert second.summary["modules"] == 3, "a finding of an earlier run must not end this one"
    assert second.summary["seed"] == 1
    assert (second.summary["new"], second.summary["back"], second.summary["seen"]) == ([], [], 1)
    with Store(repository / "relaxfuzz-out", create=False) as store:
        assert [run.command for run in store.runs.all().values()] == ["nightly"] * 2


def test_a_fault_eats_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The finding is not reduced and no report is written, but the finding is there."""

    def broken(*arguments: object, **options: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(triage, "minimized", broken)
    monkeypatch.setattr(nightly, "writer", lambda form: broken)
    (tmp_path / "mine.py").write_text(USER.read_text())
    settings = SETTINGS.replace('corpus = ["bugs"]', "")
    (tmp_path / "nightly.toml").write_text(settings)
    once = night(tmp_path, "--modules", "5000", "--until-first")
    assert once.code == 1
    assert len(once.summary["new"]) == 1  # type: ignore[arg-type]  # a list, from JSON
    texts = [str(event["text"]) for event in once.of("fault")]
    assert len(texts) == 3, "of the reduction and of two reports"
    assert sum(text.startswith("no report in") for text in texts) == 2


@pytest.mark.session
def test_ctrl_c_ends_in_order_and_the_same_command_goes_on(tmp_path: Path) -> None:
    place(tmp_path)
    modules = "96"  # several blocks: Ctrl-C comes while the first is checked

    def interrupt() -> None:
        while True:
            time.sleep(0.05)
            if not (tmp_path / "relaxfuzz-out" / "nightly.json").exists():
                continue
            with Store(tmp_path / "relaxfuzz-out", create=False) as store:
                if store.runs.all():
                    break
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=interrupt, daemon=True)
    watcher.start()
    stopped = night(tmp_path, "--modules", modules)
    watcher.join()
    assert stopped.summary["over"] is False
    assert int(str(stopped.summary["modules"])) < int(modules)
    assert len(stopped.of("report")) == 2

    rest = night(tmp_path, "--modules", modules)
    assert rest.of("night") == [{"schema": SCHEMA, "event": "night", "seed": 0, "done": ["replay"]}]
    assert rest.of("replay") == []
    assert (rest.summary["over"], rest.summary["modules"]) == (True, int(modules))
    # What came before the interruption is still news of this night.
    assert rest.code == 1
    assert len(rest.summary["new"]) == 1  # type: ignore[arg-type]  # a list, from JSON
    assert rest.summary["back"] == ["bugs/back.py"]
    with Store(tmp_path / "relaxfuzz-out", create=False) as store:
        found = [each for run in store.runs.all().values() for each in run.found]
        assert len(set(found)) == 1


def test_the_second_at_a_time_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    Store(out).close()
    with alone(out, "relaxfuzz nightly"):
        result = CliRunner().invoke(app, ["nightly", "--out", str(out), "--modules", "1"])
    assert result.exit_code == 2
    assert f"relaxfuzz nightly (process {os.getpid()}, since " in result.stderr
    assert str(out) in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.toml"], "cannot read 'gone.toml'"),
        (["bad.toml"], "bad.toml, report: no setting 'htm'. Did you mean 'html'"),
        (["--budget", "soon"], "got --budget 'soon'"),
        (["taken.toml"], "cannot write 'taken.toml/report.html'"),
        (["--out", "."], "choose another --out"),
    ],
)
def test_a_mistake_gets_one_sentence_and_leaves_nothing(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[report]\nhtm = 'x'\n")
    (tmp_path / "taken.toml").write_text("[report]\nmarkdown = 'taken.toml/report.html'\n")
    result = CliRunner().invoke(app, ["nightly", *arguments])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
