"""The cluster as users see it: options, lines about workers, messages for mistakes."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from bench.dask_processes import Processes
from relaxfuzz.compat.release import versions
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.cli.app import finish
from relaxfuzz.fuzz.cluster.where import Where
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.nightly.config import Plan, load, plan
from relaxfuzz.fuzz.output import terminal as displays
from relaxfuzz.fuzz.output.terminal import display
from relaxfuzz.fuzz.process.executor import ExecutorError, Member, Sink
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import LIMITS, Job, Limits
from relaxfuzz.fuzz.session import fuzzing
from relaxfuzz.fuzz.session.members import Roster, headcount, line, lines
from relaxfuzz.fuzz.session.session import Output, Session
from relaxfuzz.fuzz.user_input.targets import Relaxations, targets

from ...commands import relaxfuzz

USER = Path(__file__).parents[1] / "user_passes.py"


# What is asked


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scheduler", "localhost:8786"], "did you mean 'tcp://localhost:8786'?"),
        (["--scheduler", "gone.json"], "'gone.json': it is neither a file nor an address"),
        (["--scheduler", "http://10.0.0.7:8787"], "expected tcp://host:port, tls://host:port"),
        (["--cluster", "lokal"], "expected cluster 'local' but got 'lokal'"),
        (["--cluster", "local", "--scheduler", "tcp://a:1"], "'tcp://a:1' and cluster 'local'"),
    ],
)
@pytest.mark.parametrize("command", ["run", "nightly"])
def test_a_mistake_of_address_gets_one_sentence_and_exit_2(
    command: str,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [command, "--modules", "1", *arguments])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_dask_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = CliRunner().invoke(app, ["run", "--modules", "1", "--cluster", "local"])
    assert result.exit_code == 2, result.output
    assert "pip install 'relaxfuzz[cluster]'" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_block_has_a_module() -> None:
    assert CliRunner().invoke(app, ["run", "--block", "0"]).exit_code == 2


def planned(text: str, folder: Path, **options: object) -> Plan:
    path = folder / "night.toml"
    path.write_text('passes = ["FuseOps"]\n' + text)
    return plan(load(path), options, path.name)


def test_a_night_names_its_cluster(tmp_path: Path) -> None:
    assert planned("", tmp_path).where is None
    assert planned('scheduler = "tcp://a:1"', tmp_path).where == Where("tcp://a:1")
    assert planned('cluster = "local"\nblock = 64', tmp_path).where == Where(kind="local")


def test_an_option_names_another_cluster(tmp_path: Path) -> None:
    here = {"cluster": "local"}
    assert planned('scheduler = "tcp://a:1"', tmp_path, **here).where == Where(kind="local")
    there = {"scheduler": "tls://b:2"}
    assert planned('scheduler = "tcp://a:1"', tmp_path, **there).where == Where("tls://b:2")


# What is seen

FEW = (
    Member("10.0.0.3:40331", 4, 12, 2560, 20.0, ("FuseOps", "LegalizeOps")),
    Member("10.0.0.12:1", 16, 3, 30, 20.0),
)
MANY = tuple(Member(f"10.0.0.{i}:1", 2, i, 100 * i, 10.0) for i in range(1, 48))


def test_each_worker_has_a_line() -> None:
    assert lines(FEW) == [
        "  10.0.0.12:1     16 threads   3 blocks    2 checks/s",
        "  10.0.0.3:40331   4 threads  12 blocks  128 checks/s  FuseOps LegalizeOps",
    ]
    assert line(FEW) == (
        "2 workers with 20 threads: 10.0.0.12:1 2 checks/s, 10.0.0.3:40331 128 checks/s"
    )
    assert lines(()) == []


def test_of_many_workers_the_busiest_are_shown_and_the_others_counted() -> None:
    output = lines(MANY)
    assert len(output) == 9
    assert [each.split()[0] for each in output[:-1]] == [f"10.0.0.{i}:1" for i in range(40, 48)]
    assert output[-1] == "  and 39 more: 7800 checks/s"
    assert line(MANY).endswith("10.0.0.47:1 470 checks/s, and 44 more: 9900 checks/s")
    assert headcount(MANY) == "47 workers with 94 threads"


def test_a_terminal_shows_the_workers_below_the_totals() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=24, color_system=None)
    shown = display(console)
    shown.below(lines(FEW), line(FEW))
    shown.progress("12s  340 modules")
    shown.line("a line that stays")
    shown.close()
    text = out.getvalue()
    assert text.index("12s  340 modules") < text.index("10.0.0.12:1") < text.index("10.0.0.3:40331")
    assert "a line that stays" in text
    assert line(FEW) not in text


def test_elsewhere_they_are_one_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(displays.time, "monotonic", lambda: clock[0])
    out = io.StringIO()
    shown = display(Console(file=out, width=80))
    for clock[0] in range(0, 125):
        shown.below(lines(FEW), line(FEW))
        shown.progress("modules")
    assert out.getvalue().splitlines().count(line(FEW)) == 2
    assert out.getvalue().splitlines().count("modules") == 12


def test_the_roster_keeps_those_who_left_and_adds_up_those_who_came_back() -> None:
    roster = Roster()
    roster.see([Member("a", 2, 3, 300, 30.0), Member("b", 1, 1, 10, 5.0)])
    roster.see([Member("a", 2, 4, 400, 40.0)])
    roster.see([Member("a", 2, 0, 0, 0.5)])
    roster.see([Member("a", 2, 1, 100, 9.0)])
    assert roster.all == (Member("a", 2, 5, 500, 49.0), Member("b", 1, 1, 10, 5.0))


# How it ends


def test_lost_workers_are_reported_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise ExecutorError("the scheduler at tcp://a:1 is gone")

    with pytest.raises(typer.Exit) as ended:
        finish(command)
    assert ended.value.exit_code == 3
    assert capsys.readouterr().err == "error: the scheduler at tcp://a:1 is gone\n"


class _Lost:
    """The pool, until so many jobs were handed to it."""

    def __init__(self, pool: LocalPool, jobs: int) -> None:
        self.workers = pool.workers
        self.cancel, self.close = pool.cancel, pool.close
        self._pool = pool
        self._jobs = jobs

    def members(self) -> tuple[Member, ...]:
        return (Member("far", self.workers),)

    def submit(self, job: Job, sink: Sink, *, limits: Limits = LIMITS) -> int:
        self._jobs -= 1
        if self._jobs < 0:
            raise ExecutorError("the scheduler is gone")
        return self._pool.submit(job, sink, limits=limits)


@pytest.fixture
def session(tmp_path: Path, pool: LocalPool) -> Iterator[Session]:
    with Store(tmp_path / "out") as store:
        expected = Choice(shipped=False).load(versions()["tvm"])
        made = Session(store, pool, Choice(), expected, Output(as_json=False))
        try:
            yield made
        finally:
            made.display.close()


def test_what_was_found_before_the_workers_were_lost_is_reported(
    session: Session,
    pool: LocalPool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fuzzing, "LEAST_DRAIN", 0.5)
    session.executor = _Lost(pool, 5)
    config = CampaignConfig(
        seed=5,
        targets=targets((f"{USER}:raises_on_exp",), Relaxations()),
        modules=200,
        modules_in_block=4,
        compositions=False,
    )
    finished = fuzzing.Fuzzing(config, session, command="test").run(())
    assert session.lost == "the scheduler is gone"
    assert finished.stopped
    assert 0 < finished.modules <= 5 * 4
    assert session.conclude(finished.modules, finished.checks, finished.seconds) == 3
    output = capsys.readouterr()
    assert "The workers were lost before the end" in output.out
    assert output.err.count("the scheduler is gone") == 1
    unfinished = session.store.runs.unfinished("test")
    assert unfinished is not None
    assert unfinished[1].found, "its bug comes with the first modules"
    assert [member.name for member in session.roster.all] == ["far"]


# Whole sessions


@pytest.mark.session
def test_a_local_cluster_finds_what_this_machine_finds(tmp_path: Path) -> None:
    asked = ["run", f"{USER}:raises_on_exp", "--seed", "5", "--modules", "24", "--block", "4"]
    asked += ["--workers", "2", "--json", "--no-known"]
    here = relaxfuzz(*asked, "--out", tmp_path / "here")
    there = relaxfuzz(*asked, "--out", tmp_path / "there", "--cluster", "local")
    assert (here.returncode, there.returncode) == (1, 1), here.stderr + there.stderr
    output = [[json.loads(line) for line in run.stdout.splitlines()] for run in (here, there)]
    found = [[e["identity"] for e in run if e["event"] == "finding"] for run in output]
    assert found[0] == found[1] != []
    joined = {e["worker"] for e in output[1] if e["event"] == "cluster" and e["kind"] == "joined"}
    summaries = [run[-1] for run in output]
    for each in ("modules", "checks", "findings", "lost"):
        assert summaries[0][each] == summaries[1][each]
    assert summaries[0]["workers"] == []
    assert {worker["name"] for worker in summaries[1]["workers"]} == joined
    assert sum(worker["blocks"] for worker in summaries[1]["workers"]) == 6
    assert sum(worker["checks"] for worker in summaries[1]["workers"]) == summaries[1]["checks"]


@pytest.mark.session
def test_a_night_whose_scheduler_is_lost_goes_on_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from relaxfuzz.fuzz.cluster import executor

    monkeypatch.setattr(executor, "RETURN", 2.0)
    monkeypatch.setattr(fuzzing, "LEAST_DRAIN", 0.5)
    settings = tmp_path / "night.toml"
    text = f'passes = ["{USER}:raises_on_exp"]\nmodules = 60\nblock = 4\nworkers = 1\n'
    text += "shipped-knowns = false\n"
    settings.write_text(text)

    def modules() -> int:
        out = tmp_path / "relaxfuzz-out"
        if not (out / "findings.sqlite").exists():
            return 0
        with Store(out, create=False) as store:
            return sum(run.modules for run in store.runs.all().values())

    with Processes(tmp_path) as cluster:
        cluster.add(threads=2)

        def kill() -> None:
            while not modules():
                time.sleep(0.2)
            cluster.scheduler.kill()

        threading.Thread(target=kill, daemon=True).start()
        asked = ["nightly", str(settings), "--json"]
        result = CliRunner().invoke(app, [*asked, "--scheduler", str(cluster.file)])
    assert result.exit_code == 3, result.output
    assert "Traceback" not in result.output
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [e["kind"] for e in events if e["event"] == "cluster"] == ["joined", "scheduler-gone"]
    assert events[-1]["lost"].startswith("the scheduler at ")
    assert not events[-1]["over"]
    done = events[-1]["modules"]
    assert 0 < done < 60
    rest = CliRunner().invoke(app, asked)
    assert rest.exit_code == 1, rest.output
    last = json.loads(rest.stdout.splitlines()[-1])
    assert (last["modules"], last["over"], last["lost"]) == (60, True, None)
    assert len(last["new"]) == 1
