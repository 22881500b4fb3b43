"""The doctor: each check reports what is unfit, and works without TVM."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from relaxfuzz.corpus.zoo import ZOO
from relaxfuzz.fuzz.doctor import environment, with_tvm
from relaxfuzz.fuzz.doctor.environment import Line, Verdict
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import LIMITS
from relaxfuzz.fuzz.session.hunt import Detection
from tests.compat.ffi import CRASHES, copied_ffi

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


def only(made: list[Line], part: str) -> Line:
    (line,) = [line for line in made if line.part == part]
    return line


@pytest.fixture(scope="module")
def without_tvm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has all that this one has, but TVM."""
    folder = tmp_path_factory.mktemp("without-tvm")
    venv.create(folder, symlinks=True)
    (there,) = folder.glob("lib/python*/site-packages")
    here = next(Path(each) for each in sys.path if each.endswith("site-packages"))
    for entry in here.iterdir():
        if not entry.name.startswith(("tvm", "apache_tvm")):
            (there / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


# Of the whole environment


@pytest.mark.session
def test_here_it_is_fit(tmp_path: Path) -> None:
    code, lines, _ = doctor(cwd=tmp_path)
    assert code == 0, lines
    for oracle in with_tvm.FAULTS.values():
        assert lines[f"self-test: {oracle}"]["value"].startswith("found in ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.session
def test_in_a_terminal_each_line_has_its_remedy(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": "/nowhere", "PATH": "", "COLUMNS": "100"}
    run = subprocess.run(
        [sys.executable, "-m", "relaxfuzz.fuzz.cli", "doctor"],
        env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "→ set TMPDIR to a folder that can be written to" in run.stdout
    assert "→ install gcc or clang" in run.stdout  # modules are compiled just in time
    assert "Fit: the faults of the self-test were found." in run.stdout


def test_without_tvm(without_tvm: Path, tmp_path: Path) -> None:
    code, lines, _ = doctor(python=without_tvm, env={"PYTHONPATH": ""}, cwd=tmp_path)
    assert code == 2
    assert lines["TVM"]["verdict"] == "problem"
    assert "No module named 'tvm'" in lines["TVM"]["value"]
    assert "pip install 'relaxfuzz[tvm]'" in lines["TVM"]["advice"]
    assert lines["self-test"]["value"] == "could not be tried"
    assert lines["fork"]["verdict"] == "ok"  # everything else is checked


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
    assert lines["limit: address space"]["verdict"] == "problem"
    assert "ulimit -v" in lines["limit: address space"]["advice"]
    assert lines["TVM"]["verdict"] == "problem"
    assert lines["output folder"]["verdict"] == "ok"  # what needs no TVM is checked


def test_a_process_that_dies_on_the_way(tmp_path: Path) -> None:
    """As with a library that is built for another processor."""
    (tmp_path / "ml_dtypes.py").write_text("import os\nos.kill(os.getpid(), 4)\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    *_, last = checked(PYTHONPATH=path)
    assert (last.part, last.verdict) == ("TVM", Verdict.PROBLEM)
    assert last.value == "the process is killed by SIGILL"


def test_an_ffi_that_crashes_tvm(tmp_path: Path) -> None:
    copied_ffi(tmp_path, "serialization.py", CRASHES)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    (line,) = checked(PYTHONPATH=path)  # TVM is not even loaded
    assert (line.part, line.verdict) == ("ffi", Verdict.PROBLEM)
    assert line.value.endswith("crashes TVM when a module is saved as JSON (SIGSEGV)")
    assert "pip install 'apache-tvm-ffi==0.1.14.post1'" in line.advice


def test_folders_without_room_or_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)]
    if subprocess.run(mounting, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        full = environment.folder("output folder", small, "choose")
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        read_only = environment.folder("output folder", small, "choose")
        subprocess.run(["mount", "-o", "remount,rw,size=20m,noexec", str(small)], check=True)
        little = environment.folder("output folder", small, "choose")
        monkeypatch.setattr(tempfile, "tempdir", str(small))
        temporary = environment.temporary_files()
        monkeypatch.setenv("XDG_CACHE_HOME", str(small))
        kernels = environment.compiled_kernels()
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert (full.verdict, "No space left" in full.value) == (Verdict.PROBLEM, True)
    assert (read_only.verdict, "Read-only" in read_only.value) == (Verdict.PROBLEM, True)
    assert (little.verdict, "0.0 GB free" in little.value) == (Verdict.PROBLEM, True)
    assert "noexec" in temporary.value
    assert (kernels.verdict, "noexec" in kernels.value) == (Verdict.WARNING, True)


def test_compiled_kernels_need_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    line = environment.compiled_kernels()
    assert line.verdict == Verdict.OK
    assert str(tmp_path / "relaxfuzz" / "kernels") in line.value


def checked(**variables: str) -> list[Line]:
    """The checks that need TVM, with other environment variables."""
    code = (
        "import json, dataclasses\n"
        "from relaxfuzz.fuzz.doctor.with_tvm import lines\n"
        "for line in lines('1'): print(json.dumps(dataclasses.asdict(line)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    made = map(json.loads, run.stdout.splitlines())
    return [Line(**{**each, "verdict": Verdict(each["verdict"])}) for each in made]


def test_temporary_files_go_elsewhere_than_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", "/nowhere")
    line = environment.temporary_files()
    assert line.verdict == Verdict.WARNING
    assert "cannot write to TMPDIR '/nowhere'" in line.value


def test_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    line = environment.folder("output folder", tmp_path / "new" / "out", "choose")
    assert line.verdict == Verdict.OK
    assert list(tmp_path.iterdir()) == []


# Of processes


def test_a_hang_is_reported() -> None:
    (*_, line) = with_tvm.lines("1", silence=0.0)
    assert line.verdict == Verdict.PROBLEM
    assert "hangs" in line.value


def test_too_few_processes(tmp_path: Path) -> None:
    """The limit is one of the user's, and root has none."""
    if os.geteuid() != 0:
        pytest.skip("needs a user without any process: only root can take one's part")
    code = (
        # Imported before its permissions are removed.
        "from relaxfuzz.fuzz.doctor import environment\n"
        "import os, resource\n"
        "os.setresuid(54321, 54321, 54321)\n"
        "resource.setrlimit(resource.RLIMIT_NPROC, (5, 5))\n"
        "line = environment.fork(16)\n"
        "print(line.verdict, line.value, line.advice)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert "problem 4 of 16 processes: Resource temporarily unavailable" in run.stdout
    assert "ulimit -u (now 5)" in run.stdout


# Of single parts


def test_only_what_needs_tvm_imports_it() -> None:
    code = (
        "import sys\n"
        "from relaxfuzz.fuzz.cli import doctor\n"
        "from relaxfuzz.fuzz.doctor import environment, with_tvm\n"
        "sys.exit('tvm' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_limits_that_are_too_low() -> None:
    unlimited = resource.RLIM_INFINITY
    low = {
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_AS: 2 * GIGABYTE,
        resource.RLIMIT_STACK: 1 << 19,
        resource.RLIMIT_FSIZE: 1 << 20,
        resource.RLIMIT_CPU: 3600,
    }
    made = list(environment.limits(4, lambda number: (low.get(number, unlimited), unlimited)))
    verdicts = {line.part: line.verdict for line in made}
    assert verdicts == {
        "limit: open files": Verdict.PROBLEM,
        "limit: address space": Verdict.WARNING,
        "limit: stack": Verdict.PROBLEM,
        "limit: file size": Verdict.PROBLEM,
        "limit: CPU time": Verdict.WARNING,
    }
    (line,) = environment.limits(4, lambda number: (unlimited, unlimited))
    assert (line.part, line.verdict) == ("limits", Verdict.OK)
    assert "ulimit -n 128" in only(made, "limit: open files").advice


def test_a_child_may_grow_to_the_limit_of_the_doctor() -> None:
    assert LIMITS.memory_mb << 20 == environment.CHILD


def test_memory() -> None:
    assert environment.memory(2, 16 * GIGABYTE, None).verdict == Verdict.OK
    few = environment.memory(4, 16 * GIGABYTE, 2 * GIGABYTE)
    assert (few.verdict, "in the container" in few.value) == (Verdict.WARNING, True)
    none = environment.memory(16, 16 * GIGABYTE, GIGABYTE)
    assert none.verdict == Verdict.PROBLEM
    assert "--workers 2" in none.advice
    assert "end other programs" in environment.memory(1, GIGABYTE // 2, None).advice


def test_more_workers_than_cores(tmp_path: Path) -> None:
    line = only(list(environment.lines(tmp_path, 3, 2)), "cores")
    assert (line.verdict, "--workers 2" in line.advice) == (Verdict.WARNING, True)


def test_memory_of_a_container(tmp_path: Path) -> None:
    assert environment.container_memory(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text(f"{3 * GIGABYTE}\n")
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {GIGABYTE}\n")
    assert environment.container_memory(tmp_path) is None
    (tmp_path / "memory.max").write_text(f"{4 * GIGABYTE}\n")
    assert environment.container_memory(tmp_path) == 2 * GIGABYTE


def test_assertions_that_are_switched_off() -> None:
    code = (
        "from relaxfuzz.fuzz.doctor import environment\n"
        "for line in environment.installation(): print(line.part, line.verdict, line.value)"
    )
    run = subprocess.run(
        [sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True
    )
    assert re.search("^Python warning .*with assertions switched off$", run.stdout, re.M)
    assert "numpy " in run.stdout


# The self-test


def test_a_fault_that_is_not_found_is_a_problem(pool: LocalPool) -> None:
    """The campaign is over before it is met; or long after it should have been."""
    specimen = "reuses_viewed_tensors"  # not met in a thousand modules
    (line,) = with_tvm.hunts({specimen: "well-formed"}, pool, seconds=0.5)
    assert (line.part, line.verdict) == ("speed", Verdict.PROBLEM)
    assert line.value.startswith("well-formed: not found in ")
    late = Detection(specimen=ZOO[specimen], finding=None, modules=500, seconds=60.0)
    line = with_tvm.judge("well-formed", late)
    assert (line.part, line.verdict) == ("self-test: well-formed", Verdict.PROBLEM)
    assert line.value == "well-formed: not found in 500 modules, 60.0 s"


@pytest.mark.session
def test_a_fault_that_is_found_for_another_reason_is_a_problem(pool: LocalPool) -> None:
    """As where each process dies of the environment."""
    (line,) = with_tvm.hunts({"constants_second": "segfault"}, pool)
    assert line.verdict == Verdict.PROBLEM
    assert "expected segfault but found crash" in line.value


@pytest.mark.session
def test_nothing_is_wrong_but_relaxfuzz_itself(tmp_path: Path) -> None:
    """A copy of it whose pass of the zoo has another fault."""
    package = Path(environment.__file__).parents[2]
    copy = tmp_path / "relaxfuzz"
    copy.mkdir()
    for entry in package.iterdir():
        if entry.name != "corpus":
            (copy / entry.name).symlink_to(entry.resolve())
    shutil.copytree(package / "corpus", copy / "corpus")
    crash = copy / "corpus" / "zoo" / "crash.py"
    before = "        return sum(\n            tvm_ffi.structural_equal(relax.get_shape_of(var), "
    text = crash.read_text()
    assert text.count(before) == 1
    crash.write_text(text.replace(before, f"        raise KeyError(in_tuples)\n{before}"))
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    code, lines, _ = doctor(env={"PYTHONPATH": path}, cwd=tmp_path)
    assert code == 3, lines
    assert "expected segfault but found crash" in lines["self-test: segfault"]["value"]
    assert lines["self-test: evaluated"]["verdict"] != "problem"


# On a cluster


@pytest.mark.session
def test_a_cluster_on_this_machine(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    code, lines, _ = doctor(options=("--cluster", "local", "--workers", "1"), cwd=tmp_path)
    assert code == 0, lines
    assert lines["cluster"]["value"] == "1 threads that run jobs"
    assert sum(part.startswith("worker ") for part in lines) == 1
    assert lines["self-test: segfault"]["value"].startswith("found in ")


@pytest.mark.session
def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    options = ("--scheduler", "tcp://127.0.0.1:9", "--workers", "1")
    code, lines, _ = doctor(options=options, cwd=tmp_path)
    assert code == 2, lines
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in lines["cluster"]["value"]
    assert lines["self-test"]["value"] == "could not be tried"
