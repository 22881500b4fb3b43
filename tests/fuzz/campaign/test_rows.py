"""The rows of a fixed campaign: the same each time, with what it found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from . import rows


def test_rows_are_the_same_each_time() -> None:
    command = [sys.executable, str(Path(rows.__file__)), "2", "3"]
    once, again = (subprocess.run(command, capture_output=True, text=True) for _ in range(2))
    assert once.returncode == 0, once.stderr
    assert once.stdout == again.stdout
    lines = once.stdout.splitlines()
    assert lines[0].startswith("2 modules,")
    assert any("'checks': 1" in line for line in lines)
