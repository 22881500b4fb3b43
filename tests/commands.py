"""Commands of relaxfuzz, as a user gives them."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from relaxfuzz.fuzz.process.launch import ONE_THREAD

SERVER = Path(__file__).with_name("command_server.py")
SECONDS = 300.0


def relaxfuzz(
    *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`relaxfuzz("run", "FuseOps")`: as a user does it, but without the import of TVM each time.

    Args:
        env: added to the variables of this process.
    """
    words = [str(each) for each in arguments]
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-test-") as folder:
        outputs = [Path(folder) / name for name in ("stdout", "stderr")]
        for file in outputs:
            file.touch()
        code = _ask(_server(), words, cwd or Path.cwd(), {**os.environ, **(env or {})}, outputs)
        stdout, stderr = (file.read_text(errors="replace") for file in outputs)
    return subprocess.CompletedProcess(words, code, stdout, stderr)


@functools.cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, str(SERVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            **ONE_THREAD,  # what forks has one thread
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
    )

    def close() -> None:
        with server:
            assert server.stdin is not None
            server.stdin.close()

    atexit.register(close)
    return server


def _ask(
    server: subprocess.Popen[str],
    words: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    outputs: Sequence[Path],
) -> int:
    assert server.stdin is not None
    assert server.stdout is not None
    stdout, stderr = map(str, outputs)
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
