"""The command line, as a user meets it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import relaxfuzz as relaxfuzz_package
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.system.errors import UserError, parse_budget
from relaxfuzz.oracles.execute.device import KINDS, missing

from ...commands import relaxfuzz

USER = Path(__file__).parents[1] / "user_passes.py"

OF_CHECKS = ("asked", "silenced")
"""Events that tell of oracles, not of findings."""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
COMMAND = [sys.executable, "-m", "relaxfuzz.fuzz.cli"]

MODULE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.exp(a)
            c = R.multiply(b, y)
            R.output(c)
        return c
"""


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODULE)
    return path


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "FuseOp", "--modules", "1"], "'FuseOps'"),
        (["run", "FuseOps(fuse_opt_levl=1)", "--modules", "1"], "fuse_opt_level"),
        (["run", "--budget", "soon"], "60s, 5m or 1h but got --budget 'soon'"),
        (["run", f"{USER}:factory_raises"], "RuntimeError: no pass today"),
        (["run", f"{USER}:gives_none"], "None"),
        (["run", "FuseOps", "--oracle", "idempotency"], "idempotent"),
        (["run", "FuseOps", "--device", "cuba"], "no device 'cuba'. Did you mean 'cuda'?"),
        (["run", f"{USER}:correct", "--stage", "legalised"], "legalized"),
        (["run", "--exempt", "idempotent"], "path/to/file.py:factory"),
        (["run", f"{USER}:correct", "--like", "FuseOp"], "'FuseOps'"),
        (["check", "gone.json"], "gone.json"),
        (["replay", "nowhere"], "nowhere"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_is_not_there_is_one_line_and_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "metal"
    if missing(kind) is None:
        pytest.skip(f"there is a {KINDS[kind]} device")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["run", "dlight.ApplyDefaultSchedule", "--device", kind])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: no {KINDS[kind]} device: ")
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["notes.txt", "findings.sqlite"])
def test_an_unrelated_out_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    result = CliRunner().invoke(app, ["run", "--modules", "1", "--out", str(out)])
    assert result.exit_code == 2
    assert (out / name).read_text() == "mine"
    assert [entry.name for entry in out.iterdir()] == [name]


def test_help_teaches_with_examples() -> None:
    for command in ("run", "check", "replay", "minimize"):
        result = CliRunner().invoke(app, [command, "--help"])
        assert result.exit_code == 0
        assert f"relaxfuzz {command}" in result.output


def test_the_version_and_the_short_help() -> None:
    version = importlib.metadata.version("relaxfuzz")
    assert CliRunner().invoke(app, ["--version"]).output == f"relaxfuzz {version}\n"
    assert relaxfuzz_package.__version__ == version
    for command in (["-h"], ["run", "-h"], ["findings", "-h"]):
        assert "Usage: " in CliRunner().invoke(app, command).output


def test_a_missing_tvm_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "tvm.py").write_text("raise ImportError('no libtvm here')")
    done = subprocess.run(
        [*COMMAND, "list", "ops"],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"},
    )
    assert done.returncode == 2
    assert "no libtvm here" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_does_not_import_tvm() -> None:
    code = (
        "import sys\nfrom relaxfuzz.fuzz import cli\nimport relaxfuzz\n"
        "assert 'tvm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("90", 90), ("0.5s", 0.5)],
)
def test_budget(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "5x", "-5s", "5 minutes", "0", "m5", "nan"])
def test_budget_of_nonsense(text: str) -> None:
    with pytest.raises(UserError, match="expected a budget"):
        parse_budget(text)


# Runs


@pytest.mark.session
def test_a_bug_in_a_users_pass_is_found_reduced_and_replayed(tmp_path: Path, module: Path) -> None:
    out = tmp_path / "out"
    arguments = ("check", module, f"{USER}:raises_on_exp", "--out", out, "--json")
    done = relaxfuzz(*arguments)
    assert done.returncode == 1, done.stderr
    *found, summary = events(done.stdout)
    assert summary["event"] == "summary"
    assert set(summary) == {
        "schema", "event", "modules", "checks", "seconds", "findings", "similar_to_known",
        "of_tvm_on_the_way", "reports", "unconfirmed", "knowns", "known_reports", "lost",
    }  # fmt: skip
    (finding,) = [event for event in found if event["event"] not in OF_CHECKS]
    assert set(finding) == {
        "schema", "event", "id", "row", "identity", "identity_format", "place", "pass", "oracle",
        "title",
        "reproducer", "module", "confirmed", "similar", "tvm", "contract", "grade", "hint",
        "consequence",
    }  # fmt: skip
    assert finding["pass"] == "raises_on_exp"
    assert finding["confirmed"] is True
    assert "relax.exp" in str(finding["title"])

    reproducer = Path(str(finding["reproducer"]))
    text = reproducer.read_text()
    assert "exp" in text
    assert "multiply" not in text
    alone = subprocess.run([sys.executable, reproducer], capture_output=True, text=True)
    assert alone.returncode == 1
    assert "KeyError" in alone.stderr

    second = relaxfuzz(*arguments)
    again = [event for event in events(second.stdout)[:-1] if event["event"] not in OF_CHECKS]
    assert [event["id"] for event in again] == [finding["id"]]
    with Store(out, create=False) as store:
        assert len(list(store.findings())) == 1

    replayed = relaxfuzz("replay", out, "--json")
    assert replayed.returncode == 1, replayed.stderr
    outcome, _ = events(replayed.stdout)
    assert outcome["status"] == "fails"


@pytest.mark.session
def test_a_generated_module_shows_a_bug_in_a_users_pass(tmp_path: Path) -> None:
    run = ("run", f"{USER}:grows", "--modules", 3, "--seed", 1, "--out", tmp_path / "out")
    done = relaxfuzz(*run)
    assert done.returncode == 0, "nobody has promised a normal form"
    assert "grows" in done.stdout
    assert "idempotent" in done.stdout
    (path,) = (tmp_path / "out" / "reproducers").glob("grows-idempotent-*.py")
    assert str(path) in done.stdout.replace("\n", "")


def wait_for_workers(process: subprocess.Popen[str]) -> None:
    """Wait until the run reports that it has begun."""
    assert process.stderr is not None
    assert "relaxfuzz on TVM" in process.stderr.readline()
    time.sleep(1)


def start(out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "run", "--budget", "1h", "--seed", "1", "--out", str(out), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


@pytest.mark.session
def test_ctrl_c_ends_with_the_summary(tmp_path: Path) -> None:
    with start(tmp_path / "out") as process:
        wait_for_workers(process)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode in (0, 1, 4), stderr
    assert events(stdout)[-1]["event"] == "summary"


@pytest.mark.session
def test_kill_9_leaves_a_readable_store(tmp_path: Path) -> None:
    with start(tmp_path / "out") as process:
        wait_for_workers(process)
        process.kill()
        stdout, _ = process.communicate(timeout=120)
    emitted = {event["id"] for event in events(stdout) if event["event"] == "finding"}
    with Store(tmp_path / "out", create=False) as store:
        assert emitted <= {finding.id for finding in store.findings()}


# The catalogue


@pytest.mark.parametrize(("command", "field"), [("passes", "pass"), ("ops", "op")])
def test_the_catalogue_is_listed(command: str, field: str) -> None:
    plain, machine = relaxfuzz("list", command), relaxfuzz("list", command, "--json")
    assert plain.returncode == machine.returncode == 0, plain.stderr + machine.stderr
    names = [str(event[field]) for event in events(machine.stdout)]
    assert len(names) == len(set(names)) >= 60
    assert all(name in plain.stdout for name in names)


def test_one_item_of_the_catalogue() -> None:
    one = relaxfuzz("list", "ops", "matmul", "--json")
    assert [event["op"] for event in events(one.stdout)] == ["matmul"]
    wrong = relaxfuzz("list", "passes", "FuseTR")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: no pass 'FuseTR'. Did you mean 'FuseTIR'")


def test_a_known_bug_is_a_report_to_file(tmp_path: Path) -> None:
    whole = relaxfuzz("list", "known", "scan-flattened-rank")
    assert whole.stdout.startswith("scan-flattened-rank: cumsum and cumprod without an axis")
    assert "where: src/relax/op/tensor/statistical.cc" in whole.stdout
    issue = relaxfuzz("list", "known", "scan-flattened-rank", "--format", "issue").stdout
    assert issue.startswith("# [Bug] VMShapeLower, relax.cumprod, relax.cumsum: cumsum and cumprod")
    code = issue.split("```python\n")[1].split("```")[0]
    assert "relaxfuzz" not in code
    script = tmp_path / "script.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    without = relaxfuzz("list", "known", "--format", "issue")
    assert without.returncode == 2
    assert "name it" in without.stderr
