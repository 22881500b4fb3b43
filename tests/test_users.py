"""Four users in an empty folder: what their first commands print, and how long these take."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.session

ROOT = Path(__file__).parents[1]

ENDS = [sys.executable, "-c", "from relaxfuzz.fuzz.cli import main; main()"]

User = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    """Runs a command in an empty folder, as a process of its own, and prints its time."""
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "COLUMNS": "100"}
    environment["PYTHONPATH"] = os.pathsep.join(
        str(Path(each).resolve()) for each in environment.get("PYTHONPATH", "").split(":") if each
    )

    def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
        began = time.monotonic()
        command = ENDS if program == "relaxfuzz" else [sys.executable, "-m", program]
        done = subprocess.run([*command, *words], capture_output=True, text=True, env=environment)
        print(f"{time.monotonic() - began:5.0f} s  {done.returncode}  {program} {' '.join(words)}")
        return done

    return run


def snippet(page: str, name: str) -> str:
    """The file of this name as a page shows it."""
    (found,) = re.findall(rf"```python\n(# {name}\n.*?)```", (ROOT / page).read_text(), re.DOTALL)
    return str(found)


KERNELS = """
import tvm


@tvm.tirx.transform.prim_func_pass(opt_level=0)
def marks(func, mod, ctx):
    return func.with_attr("acme.seen", True)


def partition_for_acme(mod):
    return tvm.relax.transform.CanonicalizeBindings()(mod)
"""


def test_a_vendor(user: User, tmp_path: Path) -> None:
    """One faulty pass, repaired; a pass over PrimFuncs; a partition function."""
    Path("twice.py").write_text(snippet("README.md", "twice.py"))
    Path("fixed.py").write_text(snippet("docs/first-ten-minutes.md", "fixed.py"))
    Path("kernels.py").write_text(KERNELS)
    pytest_options = ("-p", "no:cacheprovider", "--relaxfuzz-seed", "1")
    few = ("--relaxfuzz-modules", "24")
    red = user("pytest", *pytest_options, "--relaxfuzz", "twice.py:twice", *few)
    assert red.returncode == 1, red.stdout + red.stderr
    assert "relaxfuzz twice.py:twice [crash]" in red.stdout
    assert "Expected: " in red.stdout
    assert "Reproducer:   relaxfuzz-out/reproducers/twice-crash-" in red.stdout
    file = next(Path("relaxfuzz-out/reproducers").glob("twice-crash-*"))
    failed = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert failed.returncode == 1
    assert "must have the same datatype" in failed.stderr
    green = user("pytest", *pytest_options, "--relaxfuzz", "fixed.py:double", *few)
    assert green.returncode == 0, green.stdout + green.stderr
    for name in ("marks", "partition_for_acme"):
        done = user("relaxfuzz", "run", f"kernels.py:{name}", "--modules", "16", "--out", name)
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"^0 findings", done.stdout, re.M), done.stdout


def test_a_models_owner(user: User) -> None:
    """The first command names the pass that breaks the build."""
    Path("build_model.py").write_text(snippet("docs/checker.md", "build_model.py"))
    done = user("relaxfuzz", "watch", "build_model.py")
    assert done.returncode == 1, done.stderr
    assert "Tidy (in sequential)" in done.stderr
    listed = user("relaxfuzz", "findings", "--json")
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    assert {name for row in rows for name in row["passes"]} == {"Tidy"}


def test_a_committer(user: User) -> None:
    """One pass of TVM, what is known of it, and a report to file."""
    run = user("relaxfuzz", "run", "ToNonDataflow", "--modules", "20", "--seed", "1")
    assert run.returncode == 0, run.stdout + run.stderr
    issue = user("relaxfuzz", "list", "known", "unroll-loop-break", "--format", "issue")
    assert issue.stdout.startswith("# [Bug]"), issue.stderr
    script = str(ROOT / "corpus" / "found" / "unroll-loop-break.py")
    replayed = user("relaxfuzz", "replay", script)
    assert "1 fails as expected" in replayed.stdout, replayed.stdout + replayed.stderr


def test_a_researcher(user: User) -> None:
    """Everything as data, from a seed."""
    Path("twice.py").write_text(snippet("README.md", "twice.py"))
    again = ("relaxfuzz", "run", "twice.py:twice", "--modules", "32", "--seed", "1", "--json")
    events = [json.loads(line) for line in user(*again).stdout.splitlines()]
    found = {event["id"] for event in events if event["event"] == "finding"}
    assert events[-1]["event"] == "summary"
    assert found
    rows = [
        json.loads(line) for line in user("relaxfuzz", "findings", "--json").stdout.splitlines()
    ]
    assert found == {each["id"] for row in rows for each in row["findings"]}
    assert user("relaxfuzz", "report", "--jsonl", "report.jsonl").returncode == 0
    lines = map(json.loads, Path("report.jsonl").read_text().splitlines())
    assert {line["id"] for line in lines if line["kind"] == "finding"} == {
        row["id"] for row in rows
    }
