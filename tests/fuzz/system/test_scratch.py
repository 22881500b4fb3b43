"""Temporary files are removed with their process, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from relaxfuzz.fuzz.system.scratch import sweep

HOLD = """\
import sys
from relaxfuzz.fuzz.system.scratch import scratch
folder = scratch()
assert folder == scratch()
(folder / "file").write_text("x")
print(folder, flush=True)
sys.stdin.read()
"""


def scratch_holder(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_removed_with_the_process_and_not_before(tmp_path: Path) -> None:
    process, path = scratch_holder(tmp_path)
    with process:
        sweep(tmp_path)
        assert (path / "file").exists()
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    killed, left = scratch_holder(tmp_path)
    with killed:
        killed.kill()
    assert (left / "file").exists()
    process, path = scratch_holder(tmp_path)
    with process:
        assert list(tmp_path.iterdir()) == [path]
    assert list(tmp_path.iterdir()) == []
