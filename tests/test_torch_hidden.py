"""TVM is imported without PyTorch where nobody needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from relaxfuzz.compat import torch_hidden

PROGRAM = """
import sys
from relaxfuzz.compat import torch_hidden
import tvm
print("torch" in sys.modules)
import torch
"""


@pytest.mark.parametrize("hidden", [True, False])
def test_only_a_later_import_gets_torch(tmp_path: Path, *, hidden: bool) -> None:
    (tmp_path / "torch.py").write_text("version = None\nTensor = object\n")
    variables = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    if hidden:
        variables[torch_hidden.VARIABLE] = "1"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **variables, "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if hidden:
        assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr
    else:  # TVM has imported it, and cannot use one without its functions
        assert done.stdout != "False\n"


def test_code_of_the_user_may_need_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(torch_hidden.VARIABLE, raising=False)
    torch_hidden.hide(["FuseOps", "my_pass.py:make"])
    assert torch_hidden.VARIABLE not in os.environ
    monkeypatch.setenv(torch_hidden.VARIABLE, "")
    torch_hidden.hide(["FuseOps", ""])
    assert os.environ[torch_hidden.VARIABLE] == "1"
