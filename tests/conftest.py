"""The command line, quickly."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from relaxfuzz.fuzz.executor import ONE_THREAD

SERVER = Path(__file__).with_name("command_server.py")
SECONDS = 300.0


class Relaxfuzz(Protocol):
    """Runs a command of relaxfuzz to its end, in a process of its own."""

    def __call__(
        self,
        *arguments: object,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture(scope="session")
def relaxfuzz() -> Iterator[Relaxfuzz]:
    """`relaxfuzz("run", "FuseOps")`, as a user would do it, without the import of TVM each time."""
    server = subprocess.Popen(
        [sys.executable, str(SERVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},  # what forks has one thread
    )

    def run(
        *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        words = [str(each) for each in arguments]
        with tempfile.TemporaryDirectory(prefix="relaxfuzz-test-") as folder:
            said = [Path(folder) / name for name in ("stdout", "stderr")]
            for file in said:
                file.touch()
            code = _ask(server, words, cwd or Path.cwd(), {**os.environ, **(env or {})}, said)
            stdout, stderr = (file.read_text(errors="replace") for file in said)
        return subprocess.CompletedProcess(words, code, stdout, stderr)

    with server:
        yield run
        assert server.stdin is not None
        server.stdin.close()


def _ask(
    server: subprocess.Popen[str],
    words: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    said: Sequence[Path],
) -> int:
    assert server.stdin is not None
    assert server.stdout is not None
    stdout, stderr = map(str, said)
    request = {"arguments": words, "cwd": str(cwd), "env": env, "stdout": stdout, "stderr": stderr}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    pid = int(server.stdout.readline())

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    timer = threading.Timer(SECONDS, end)
    timer.start()
    try:
        return int(server.stdout.readline())
    finally:
        timer.cancel()
