"""The cluster as users see it: options, lines about workers, messages for mistakes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.cli.app import finish
from relaxfuzz.fuzz.process.executor import ExecutorError

# What is asked


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scheduler", "localhost:8786"], "expected tcp://host:port"),
        (["--scheduler", "gone.json"], "expected tcp://host:port"),
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
    result = CliRunner().invoke(app, ["run", "--modules", "1", "--scheduler", "tcp://127.0.0.1:1"])
    assert result.exit_code == 2, result.output
    assert "pip install 'relaxfuzz[cluster]'" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# How it ends


def test_lost_workers_are_reported_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise ExecutorError("the scheduler at tcp://a:1 is gone")

    with pytest.raises(typer.Exit) as ended:
        finish(command)
    assert ended.value.exit_code == 3
    assert capsys.readouterr().err == "error: the scheduler at tcp://a:1 is gone\n"
