"""The lock of a folder: whom it refuses, with which message, and when it is released."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.system.lock import LOCK, alone

HOLD = """\
import sys
from pathlib import Path
from relaxfuzz.fuzz.system.lock import alone
with alone(Path(sys.argv[1]), "relaxfuzz nightly"):
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def lock_holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_refusal_names_the_holder_and_the_time(tmp_path: Path) -> None:
    with lock_holder(tmp_path) as process:
        today = time.strftime("%Y-%m-%d")
        with pytest.raises(UserError) as refused, alone(tmp_path, "mine"):
            pass
        assert f"relaxfuzz nightly (process {process.pid}, since {today}" in str(refused.value)
        assert str(tmp_path) in str(refused.value)


def test_a_killed_process_releases_the_lock(tmp_path: Path) -> None:
    with lock_holder(tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        refused = pytest.raises(UserError, match=rf"^a \(process {os.getpid()},")
        with alone(tmp_path, "a"), refused, alone(tmp_path, "b"):
            pass


def test_a_holder_that_has_not_written_its_name_keeps_the_lock(tmp_path: Path) -> None:
    with alone(tmp_path, "a"):
        (tmp_path / LOCK).write_text("")
        with pytest.raises(UserError, match="another relaxfuzz"), alone(tmp_path, "b"):
            pass
