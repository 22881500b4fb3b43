"""A build of TVM in another place, as docs/your-own-tvm.md has it: all processes use that one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest
import tvm
import tvm_ffi

from relaxfuzz.compat.release import versions
from relaxfuzz.fuzz.findings.store import Store

pytestmark = pytest.mark.session

FAULTY = "ToNonDataflow"

FAULT = f"""
_of_tvm = {FAULTY}

def {FAULTY}():
    import tvm
    def transform(mod, context):
        if "R.dataflow()" in mod.script():
            raise ValueError("only this build raises")
        return _of_tvm()(mod)
    return tvm.transform.module_pass(transform, opt_level=0, name="{FAULTY}")
"""


class Build:
    """The installed TVM once more, like a checkout that was built, with a fault."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "python"
        self.libraries = folder / "build" / "lib"
        self.libraries.mkdir(parents=True)
        installed = Path(str(tvm.__file__)).parent
        for library in installed.glob("lib/*.so"):
            (self.libraries / library.name).symlink_to(library)
        leave = shutil.ignore_patterns("*.so", "__pycache__", "3rdparty", "include", "src", "cmake")
        shutil.copytree(installed, self.python / "tvm", ignore=leave)
        (self.python / "tvm" / "_version.py").write_text('version = "0.28.dev42"\n')
        # As `pip install --target` leaves it, with its metadata.
        ffi = metadata.distribution("apache-tvm-ffi")
        shutil.copytree(Path(str(tvm_ffi.__file__)).parent, self.python / "tvm_ffi")
        about = Path(str(ffi.locate_file(f"apache_tvm_ffi-{ffi.version}.dist-info")))
        shutil.copytree(about, self.python / about.name)
        self._transforms = self.python / "tvm" / "relax" / "transform" / "__init__.py"
        self._plain = self._transforms.read_text()
        self.rebuild(faulty=True)

    def rebuild(self, *, faulty: bool) -> None:
        self._transforms.write_text(self._plain + (FAULT if faulty else ""))

    @property
    def variables(self) -> Mapping[str, str]:
        return {"PYTHONPATH": str(self.python), "TVM_LIBRARY_PATH": str(self.libraries)}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return Build(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    settings = f'passes = ["{FAULTY}"]\nmodules = 5\nworkers = 1\nshipped-knowns = false\n'
    (folder / "nightly.toml").write_text(settings)
    return folder


def execute(
    place: Path, variables: Mapping[str, str], *command: str | Path
) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=place,
        env={**ours, "COLUMNS": "200", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def relaxfuzz(
    place: Path, variables: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    return execute(place, variables, "-m", "relaxfuzz.fuzz.cli", *words)


def night(place: Path, variables: Mapping[str, str]) -> dict[str, object]:
    """The summary of a night."""
    run = relaxfuzz(place, variables, "nightly", "nightly.toml", "--json", "--fail-on", "C")
    assert run.returncode in (0, 1), run.stdout + run.stderr
    summary = json.loads(run.stdout.splitlines()[-1])
    assert isinstance(summary, dict)
    return {**summary, "code": run.returncode}


def listed(summary: dict[str, object], field: str = "new") -> set[str]:
    """The bugs that a field of a night's summary lists."""
    bugs = summary[field]
    assert isinstance(bugs, list)
    return set(map(str, bugs))


@pytest.fixture(scope="module")
def first(place: Path, build: Build) -> dict[str, object]:
    return night(place, build.variables)


def test_campaign_store_and_reproducer_are_of_this_build(
    first: dict[str, object], place: Path, build: Build
) -> None:
    assert first["code"] == 1
    assert first["gone_on_build"] == first["new_on_build"] == [], "there was no build before"
    with Store(place / "relaxfuzz-out", create=False) as store:
        (run,) = store.runs.all().values()
        (finding,) = [each for each in store.findings() if "only this build" in each.title]
        script = store.reproducer(finding)
    assert run.tvm_folder == str(build.python / "tvm")
    assert run.versions["tvm"] == finding.versions["tvm"] == "0.28.dev42"
    assert finding.versions["tvm_build"] == run.versions["tvm_build"] != versions()["tvm_build"]
    assert script is not None
    assert f"seen with TVM 0.28.dev42, build {finding.versions['tvm_build']}" in script.read_text()
    failed = execute(place, build.variables, script)
    assert failed.stderr.strip().endswith("ValueError: only this build raises"), failed.stderr
    assert execute(place, {}, script).returncode == 0, "the installed TVM has no fault"
    for variables, status in ((build.variables, "still fails"), ({}, "gone")):
        replayed = relaxfuzz(place, variables, "replay", f"relaxfuzz-out/{finding.id}")
        assert status in replayed.stdout, replayed.stdout + replayed.stderr


def test_a_repaired_build_lists_what_is_gone_and_a_broken_one_what_is_back(
    first: dict[str, object], place: Path, build: Build
) -> None:
    build.rebuild(faulty=False)
    second = night(place, build.variables)
    assert second["gone_on_build"] == first["new"]
    assert second["new"] == []
    assert second["build"] != first["build"]
    build.rebuild(faulty=True)
    third = night(place, build.variables)
    assert third["code"] == 1
    assert len(str(third["back"])) > 2
    assert not listed(first) & listed(third, "new_on_build"), "what is back is not new"
    assert third["build"] == first["build"], "the same files are the same build"


def test_doctor_names_the_build(place: Path, build: Build) -> None:
    run = relaxfuzz(place, build.variables, "doctor", "--json", "--workers", "1")
    parts = {line.get("part"): line for line in map(json.loads, run.stdout.splitlines())}
    assert str(build.python / "tvm") in parts["TVM"]["value"]
