"""The workflow that the docs show: its commands run, and the page shows the file as it is."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.user_input.settings import NIGHTLY, Reports, Settings
from relaxfuzz.fuzz.user_input.settings_file import load

pytestmark = pytest.mark.session

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "nightly.md").read_text()
WORKFLOW = (DOCS / "relaxfuzz.yml").read_text()

STEP = re.compile(r"^      - (?:name: (?P<name>.*)\n)?(?P<rest>(?:        .*\n|\n)*)", re.MULTILINE)
RUN = re.compile(
    r"^        run: (?:\|\n(?P<block>(?:          .*\n)+)|(?P<line>.+)\n)", re.MULTILINE
)


def step(name: str) -> str:
    """The commands of a step."""
    (rest,) = (match["rest"] for match in STEP.finditer(WORKFLOW) if match["name"] == name)
    run = RUN.search(rest)
    assert run is not None, f"step {name!r} runs nothing"
    return run["line"] or textwrap.dedent(run["block"])


def shell(script: str, folder: Path, tools: Path, **variables: str) -> int:
    """As GitHub runs a step."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
            **variables,
        },
        capture_output=True,
        check=False,
        timeout=300,
    ).returncode


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """What a runner has installed."""
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


def test_the_page_shows_the_file() -> None:
    assert f"```yaml\n{WORKFLOW}```" in PAGE


def test_the_page_shows_settings_that_can_be_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    path = tmp_path / "nightly.toml"
    path.write_text(block)
    settings = load(path, NIGHTLY)
    assert settings.out == Settings().out, "the workflow keeps this folder"
    assert settings.report is not None
    # What the workflow hands out is what the settings write.
    for form in Reports(html=Path(), markdown=Path()).named:
        assert str(settings.report.named[form]) in WORKFLOW


def test_a_pull_request_a_night_and_the_summary(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nightly.toml").write_text(
        'passes = ["ToNonDataflow"]\nmodules = 2\nworkers = 1\n[report]\n'
        'markdown = "relaxfuzz-out/summary.md"\n'
    )
    for name in ("Pull request", "Night"):
        command, *arguments = shlex.split(step(name))
        assert command == "relaxfuzz"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code in (0, 1), result.stderr
    summary = tmp_path / "summary"
    assert shell(step("Summary"), tmp_path, tools, GITHUB_STEP_SUMMARY=str(summary)) == 0
    assert summary.read_text() == (tmp_path / "relaxfuzz-out" / "summary.md").read_text() != ""


def test_the_store_is_that_of_the_last_night_that_left_one(tmp_path: Path, tools: Path) -> None:
    # Lists three runs, of which the first goes on and has no store yet.
    tool(
        tools,
        "gh",
        'case "$2" in list) printf "3\\n2\\n1\\n";; '
        'download) test "$3" != 3 && mkdir -p relaxfuzz-out && echo "$3" >> relaxfuzz-out/of;; '
        "esac",
    )
    script = step("Get the store of the last night")
    assert shell(script, tmp_path, tools) == 0
    assert (tmp_path / "relaxfuzz-out" / "of").read_text() == "2\n"


def test_no_night_before_is_no_failure(tmp_path: Path, tools: Path) -> None:
    tool(tools, "gh", 'test "$2" = list')
    assert shell(step("Get the store of the last night"), tmp_path, tools) == 0
