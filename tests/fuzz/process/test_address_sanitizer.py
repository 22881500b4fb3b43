"""A pass whose library was built with AddressSanitizer, and reads a byte too far."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.session,
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ with libasan"),
]

NATIVE = """\
#include <cstdlib>
namespace vendor {
struct Table { char* data; };
__attribute__((noinline)) char Lookup(const Table& t, int at) { return t.data[at]; }
}
extern "C" int look_up(int at) {
  vendor::Table t{static_cast<char*>(calloc(8, 1))};
  int found = vendor::Lookup(t, at);
  free(t.data);
  return found;
}
"""

PASS = """\
import ctypes
from pathlib import Path
import tvm

LIBRARY = ctypes.CDLL(str(Path(__file__).with_name("libnative.so")))

def table():
    def transform(mod, context):
        LIBRARY.look_up(8 if "R.add(" in mod.script() else 7)
        return mod
    return tvm.transform.module_pass(transform, opt_level=0, name="Table")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "native.cc").write_text(NATIVE)
    (folder / "mine.py").write_text(PASS)
    options = ["-g", "-O1", "-fsanitize=address", "-shared", "-fPIC"]
    command = ["g++", *options, "native.cc", "-o", "libnative.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def preload() -> Mapping[str, str]:
    """As docs/your-own-tvm.md has it."""
    libraries = [
        subprocess.run(
            ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    return {"LD_PRELOAD": " ".join(libraries)}


def relaxfuzz(
    folder: Path, variables: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """In a process of its own: it reads the variables when it starts."""
    ours = {name: value for name, value in os.environ.items() if name != "ASAN_OPTIONS"}
    return subprocess.run(
        [sys.executable, "-m", "relaxfuzz.fuzz.cli", *words],
        cwd=folder,
        env={**ours, "COLUMNS": "200", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def finding(project: Path, preload: Mapping[str, str]) -> dict[str, object]:
    options = ["--modules", "20", "--seed", "1", "--workers", "1", "--json"]
    run = relaxfuzz(project, preload, "run", "mine.py:table", *options)
    assert run.returncode == 1, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    found = [event for event in events if event["event"] == "finding"]
    assert [event["identity"]["how"] for event in found] == ["sanitizer-report"]
    only = found[0]
    assert isinstance(only, dict)
    return only


def test_the_report_is_a_finding(finding: dict[str, object]) -> None:
    assert finding["title"] == "AddressSanitizer: heap-buffer-overflow in vendor::Lookup"


def test_it_is_reduced_and_its_reproducer_names_what_it_needs(
    finding: dict[str, object], project: Path, preload: Mapping[str, str]
) -> None:
    script = project / str(finding["reproducer"])
    text = script.read_text()
    assert text.count(" = R.") == 1, text
    assert f"LD_PRELOAD='{preload['LD_PRELOAD']}'" in text
    # As the header says, without relaxfuzz.
    run = subprocess.run(
        [sys.executable, script],
        env={**os.environ, **preload, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "ERROR: AddressSanitizer: heap-buffer-overflow" in run.stderr


def test_replay_needs_the_sanitizer(
    finding: dict[str, object], project: Path, preload: Mapping[str, str]
) -> None:
    stored = f"relaxfuzz-out/{finding['id']}"
    for path in (stored, str(finding["reproducer"])):
        run = relaxfuzz(project, preload, "replay", path)
        assert (run.returncode, "still fails" in run.stdout) == (1, True), run.stdout
    for path, why in (
        (stored, "needs AddressSanitizer: set LD_PRELOAD"),
        (str(finding["reproducer"]), "ASan runtime does not come first"),
    ):
        run = relaxfuzz(project, {}, "replay", path)
        assert (run.returncode, why in " ".join(run.stdout.split())) == (2, True), run.stdout


def test_a_library_that_cannot_be_loaded_is_the_users_mistake(project: Path) -> None:
    run = relaxfuzz(project, {}, "run", "mine.py:table", "--modules", "1")
    assert run.returncode == 2
    assert "ASan runtime does not come first" in run.stderr


def test_leaks_and_large_requests_do_not_disturb(project: Path, preload: Mapping[str, str]) -> None:
    """Python leaves memory behind; a request for too much of it is a MemoryError."""
    (project / "greedy.py").write_text(
        "import tvm\n\n"
        "def greedy():\n"
        "    def transform(mod, context):\n"
        "        try:\n"
        "            bytes(1 << 45)\n"
        "        except MemoryError:\n"
        "            return mod\n"
        "    return tvm.transform.module_pass(transform, opt_level=0, name='greedy')\n"
    )
    options = ["--modules", "2", "--seed", "1", "--workers", "1", "--out", "greedy-out"]
    run = relaxfuzz(project, preload, "run", "greedy.py:greedy", *options)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Sanitizer" not in run.stderr
