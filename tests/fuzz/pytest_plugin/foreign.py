"""A repository that is not ours, with passes of its own, and pytest in it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PASSES = """
import ctypes

import tvm
from tvm import relax


def _wide(mod):
    functions = [f for _, f in mod.functions_items() if isinstance(f, relax.Function)]
    return any(len(f.params) > 1 for f in functions)


@tvm.transform.module_pass(opt_level=0)
def Raises(mod, ctx):
    if _wide(mod):
        raise RuntimeError("this is too wide")
    return mod


@tvm.transform.module_pass(opt_level=0)
def Dies(mod, ctx):
    if _wide(mod):
        ctypes.string_at(0)
    return mod


@tvm.transform.module_pass(opt_level=0)
def Keeps(mod, ctx):
    return mod


@tvm.transform.module_pass(opt_level=0)
def Marks(mod, ctx):
    count = int(mod.attrs["marks"]) if mod.attrs and "marks" in mod.attrs else 0
    return mod.with_attr("marks", count + 1)
"""


@dataclass(frozen=True)
class Foreign:
    """The repository's folder."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")

    def pytest(self, *arguments: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """Run pytest there, as its users would, on a CI service, which gets all lines uncut."""
        hidden = ("PYTEST_", "COV_", "RELAXFUZZ_")  # of the session that runs this
        inherited = {n: v for n, v in os.environ.items() if not n.startswith(hidden)}
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.folder,
            env={**inherited, "COLUMNS": "120", "CI": "true"},
            capture_output=True,
            text=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
        )


def foreign(folder: Path) -> Foreign:
    """A repository with a package, a test and a configuration."""
    made = Foreign(folder)
    made.write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--strict-markers"\n')
    made.write("my_pkg/__init__.py", "")
    made.write("my_pkg/passes.py", PASSES)
    made.write("test_own.py", "def test_own():\n    pass\n")
    return made
