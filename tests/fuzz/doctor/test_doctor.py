"""The doctor: each check reports what is unfit, and works without TVM."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.doctor import environment, with_tvm
from relaxfuzz.fuzz.doctor.environment import OK, PROBLEM, WARNING, DoctorLine

GIGABYTE = 1 << 30


def doctor(
    *,
    python: Path = Path(sys.executable),
    options: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
    cwd: Path,
) -> tuple[int, dict[str, dict[str, str]], str]:
    """Its exit code, its lines by part, and what it wrote to stderr."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [python, "-m", "relaxfuzz.fuzz.cli", "doctor", "--json", *options],
        env={**variables, **(env or {})},
        preexec_fn=before,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert events, run.stderr
    assert events[-1]["event"] == "summary", run.stdout + run.stderr
    assert events[-1]["fit"] == (run.returncode == 0)
    assert "Traceback" not in run.stderr, run.stderr
    print(*(e for e in events if e.get("verdict") != "ok"), sep="\n")
    return run.returncode, {e["part"]: e for e in events if e["event"] == "line"}, run.stderr


def only(made: list[DoctorLine], part: str) -> DoctorLine:
    (line,) = [line for line in made if line.part == part]
    return line


@pytest.fixture(scope="module")
def without_tvm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has all that this one has, but TVM."""
    folder = tmp_path_factory.mktemp("without-tvm")
    venv.create(folder, symlinks=True)
    (there,) = folder.glob("lib/python*/site-packages")
    for packages in (Path(each) for each in sys.path if each.endswith("site-packages")):
        for entry in packages.iterdir():
            # A .pth file may name another environment, which has TVM.
            back = entry.suffix == ".pth" and "site-packages" in entry.read_text()
            ours = not back and not entry.name.startswith(("tvm", "apache_tvm"))
            if ours and not (there / entry.name).exists():
                (there / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


# Of the whole environment


@pytest.mark.session
def test_here_it_is_fit(tmp_path: Path) -> None:
    code, lines, _ = doctor(cwd=tmp_path)
    assert code == 0, lines
    for oracle in with_tvm.FAULTS:
        assert lines[f"self-test: {oracle}"]["value"].startswith("found by ")
    assert list(tmp_path.iterdir()) == []


def test_without_tvm(without_tvm: Path, tmp_path: Path) -> None:
    code, lines, _ = doctor(python=without_tvm, env={"PYTHONPATH": ""}, cwd=tmp_path)
    assert code == 2
    assert lines["TVM"]["verdict"] == "problem"
    assert "No module named 'tvm'" in lines["TVM"]["value"]
    assert "pip install 'relaxfuzz[tvm]'" in lines["TVM"]["advice"]
    assert lines["self-test"]["value"] == "could not be tried"
    assert lines["output folder"]["verdict"] == "ok"  # everything else is checked


def test_its_own_fault_without_tvm(without_tvm: Path, tmp_path: Path) -> None:
    """It is reported as such; this needs no TVM."""
    broken = (
        "from relaxfuzz.fuzz.doctor import environment\n"
        "from relaxfuzz.fuzz.cli import main\n"
        "environment.lines = None\n"
        "main()"
    )
    run = subprocess.run(
        [without_tvm, "-c", broken, "doctor"],
        env={**os.environ, "PYTHONPATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 3, run.stderr
    assert run.stderr.endswith("This is a bug of relaxfuzz, not of a pass. Please report it.\n")


def test_a_tvm_that_cannot_be_loaded(tmp_path: Path) -> None:
    """The libraries of the real one do not fit into the address space."""
    space = 320 << 20

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (space, space))

    code, lines, _ = doctor(before=little, cwd=tmp_path)
    assert code == 2
    assert lines["TVM"]["verdict"] == "problem"
    assert lines["output folder"]["verdict"] == "ok"  # what needs no TVM is checked


def test_a_process_that_dies_on_the_way(tmp_path: Path) -> None:
    """As with a library that is built for another processor."""
    (tmp_path / "ml_dtypes.py").write_text("import os\nos.kill(os.getpid(), 4)\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    *_, last = checked(PYTHONPATH=path)
    assert (last.part, last.verdict) == ("TVM", PROBLEM)
    assert "ended with code -4" in last.value


def test_folders_without_room_or_right(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)]
    if subprocess.run(mounting, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        full = environment.folder(small)
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        read_only = environment.folder(small)
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert (full.verdict, "No space left" in full.value) == (PROBLEM, True)
    assert (read_only.verdict, "Read-only" in read_only.value) == (PROBLEM, True)


def checked(**variables: str) -> list[DoctorLine]:
    """The checks that need TVM, with other environment variables."""
    code = (
        "import json, dataclasses\n"
        "from relaxfuzz.fuzz.doctor.with_tvm import lines\n"
        "for line in lines(): print(json.dumps(dataclasses.asdict(line)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    made = map(json.loads, run.stdout.splitlines())
    return [DoctorLine(**each) for each in made]


# Of processes


def test_a_hang_is_reported() -> None:
    (*_, line) = with_tvm.lines(seconds=0.0)
    assert line.verdict == PROBLEM
    assert "ended with code -9" in line.value


# Of single parts


def test_only_what_needs_tvm_imports_it() -> None:
    code = (
        "import sys\n"
        "from relaxfuzz.fuzz.cli import doctor\n"
        "from relaxfuzz.fuzz.doctor import environment, with_tvm\n"
        "sys.exit('tvm' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory(tmp_path: Path) -> None:
    assert environment.memory(2, 16 * GIGABYTE).verdict == OK
    none = environment.memory(16, GIGABYTE)
    assert (none.verdict, "--workers 2" in none.advice) == (PROBLEM, True)
    assert "end other programs" in environment.memory(1, GIGABYTE // 2).advice
    for name, text in {"stat": "inactive_file 5", "current": "25", "max": "50"}.items():
        (tmp_path / f"memory.{name}").write_text(f"{text}\n")
    assert environment.available_memory(tmp_path) == 30
    (tmp_path / "memory.max").write_text("max\n")  # a container without a limit
    assert environment.available_memory(tmp_path) > 50


# The self-test


def judged(**finding: object) -> DoctorLine:
    name = with_tvm.FAULTS["evaluated"]
    found = {"event": "finding", "pass": name, "confirmed": True, "reproducer": "a file"}
    events = [{**found, **finding}] if finding else []
    return with_tvm.judge("evaluated", [*events, {"event": "summary", "modules": 20}], "")


def test_a_fault_that_is_found() -> None:
    assert judged(oracle="evaluated").verdict == OK
    assert judged(oracle="evaluated", reproducer=None).verdict == WARNING
    # As where each process dies of the environment.
    other = judged(oracle="crash")
    assert (other.part, other.verdict) == ("self-test: evaluated", PROBLEM)
    assert other.value == "found by crash in 20 modules"
    assert judged().value == "found by no oracle in 20 modules"
    assert judged(oracle="evaluated", **{"pass": "TVMScript"}).verdict == PROBLEM


@pytest.mark.parametrize(
    ("line", "code", "end"),
    [
        (DoctorLine("TVM", PROBLEM, "gone", "install it"), 2, "Unfit: 2 problems to repair."),
        (DoctorLine("self-test: segfault", PROBLEM, "found by crash", "report it"), 3, "a fault"),
        (DoctorLine("compiler", WARNING, "slow", "install gcc"), 0, "were found. 1 warning."),
    ],
)
def test_the_end_says_whose_fault_it_is(
    line: DoctorLine,
    code: int,
    end: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(environment, "lines", lambda *arguments: [line])
    monkeypatch.setattr(with_tvm, "lines", lambda: [])
    monkeypatch.setattr(with_tvm, "self_test", lambda workers: [])
    done = CliRunner().invoke(app, ["doctor", "--out", str(tmp_path)])
    shown = " ".join(done.stdout.split())
    assert done.exit_code == code
    assert f"→ {line.advice}" in shown
    assert end in shown
