"""The vendor's example of the docs: its bug is found; without it all is silent, and right."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.session

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = DOCS / "vendor_backend"

RUN = """
import acme
import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Model:
    @R.function
    def main(
        x: R.Tensor((2, 3, 4), "float32"),
        w: R.Tensor((4, 5), "float32"),
        bias: R.Tensor((5,), "float32"),
        v: R.Tensor((3, 3), "float32"),
    ):
        with R.dataflow():
            a = R.nn.relu(R.add(R.matmul(x, w), bias))
            b = R.add(R.matmul(v, v), v)
            R.output(a, b)
        return a, b


moved = acme.offload()(Model)
machine = relax.VirtualMachine(relax.build(moved, "llvm"), tvm.cpu())
rng = np.random.default_rng(0)
x, w, bias, v = (rng.integers(-3, 4, s).astype("float32") for s in [(2, 3, 4), (4, 5), 5, (3, 3)])
a, b = (each.numpy() for each in machine["main"](*map(tvm.runtime.tensor, (x, w, bias, v))))
np.testing.assert_array_equal(a, np.maximum(x @ w + bias, 0))
print(str(moved).count("call_dps_packed"), "calls of the accelerator")
np.testing.assert_array_equal(b, v @ v + v)
"""
"""A model with a bias of each kind: one that is right in any case, and a whole matrix."""


def fix(folder: Path) -> None:
    """Make the change that the page shows."""
    (diff,) = re.findall(r"```diff\n(.*?)```", (DOCS / "vendor-backend.md").read_text(), re.DOTALL)
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++", "@@"))]
    old, new = ("\n".join(line[1:] for line in lines if line[0] != mark) for mark in "+-")
    file = folder / "acme" / "patterns.py"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


@pytest.fixture
def backend(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def python(folder: Path, *args: str) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
        timeout=300,
    )
    return run.returncode, run.stdout + run.stderr


def fuzzed(folder: Path, examples: int) -> tuple[int, str]:
    """The ten lines, with fewer examples than a user would ask for."""
    test = folder / "test_offload.py"
    text = test.read_text().replace("import given", "import given, settings")
    test.write_text(text.replace("@given", f"@settings(max_examples={examples})\n@given"))
    return python(folder, "-m", "pytest", "-q", "--hypothesis-profile=relaxfuzz-pr", test.name)


def test_the_bug_is_found(backend: Path) -> None:
    code, output = fuzzed(backend, 30)
    assert code == 1, output
    assert "the result computes other values than the module" in output
    assert "(executed)" in output
    # A bias of two rows is wrong in two ways: for products of two rows, and of one row.
    reproducers = list((backend / ".relaxfuzz").glob("offload-executed-*.py"))
    failures = []
    for reproducer in reproducers:
        assert len(re.findall('relax.op.|op\\("', reproducer.read_text())) <= 3
        code, output = python(Path("/"), str(reproducer))
        assert code == 1
        failures += re.findall("^AssertionError|^ValueError: Invalid compute.shape", output, re.M)
    assert "AssertionError" in failures
    assert len(failures) == len(reproducers)


def test_without_the_bug_all_is_silent(backend: Path) -> None:
    fix(backend)
    code, output = fuzzed(backend, 12)
    assert code == 0, output


def test_the_mended_backend_computes_what_the_model_means(backend: Path) -> None:
    (backend / "run.py").write_text(RUN)  # TVMScript reads its source
    code, output = python(backend, "run.py")
    assert code == 1
    assert "Arrays are not equal" in output
    fix(backend)
    code, output = python(backend, "run.py")
    assert code == 0, output
    assert "2 calls of the accelerator" in output
