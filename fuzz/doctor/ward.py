"""Looking at what may die or hang: in a process of its own, which says what it is about to do.

Run as `python -m relaxfuzz.fuzz.doctor.ward EXAM ARGUMENT...`; an exam is a module of this folder
with a function `lines`. It says its lines and steps as JSON lines on stdout.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import IO

from .line import Line, Step, Verdict, problem

SECONDS = 180.0
"""Without a word: the import of TVM and the start of a zygote take a few on a busy machine."""

LAST_SECONDS = 5.0
"""For its temporary files, where it is ended."""


def examine(exam: str, *arguments: str, seconds: float = SECONDS) -> Iterator[Line]:
    """What an exam says, and how its process ended if it did so before its time.

    Args:
        seconds: without a word; then it is killed.
    """
    step = Step(exam, "run the command again; if that does not help, report it")
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, exam, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is ours, and its children die with it
        )
        assert process.stdout is not None
        heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        listener = threading.Thread(target=_listen, args=(process.stdout, heard), daemon=True)
        listener.start()
        try:
            while said := heard.get(timeout=seconds):
                match message := _message(said):
                    case Step():
                        step = message
                    case Line():
                        yield message
            code = process.wait(seconds)
        except (queue.Empty, subprocess.TimeoutExpired):
            yield problem(step.part, f"hangs: no word for {seconds:.0f} s", step.advice)
            return
        finally:
            if process.poll() is None:  # nobody listens any more: let it tidy up
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(LAST_SECONDS)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            listener.join()
            process.stdout.close()
        if code != 0:
            yield problem(step.part, _end(code, stderr), step.advice)


def _listen(stdout: IO[bytes], heard: queue.SimpleQueue[bytes]) -> None:
    for line in stdout:
        heard.put(line)
    heard.put(b"")


def _message(said: bytes) -> Line | Step:
    fields = json.loads(said)
    if "verdict" in fields:
        return Line(**{**fields, "verdict": Verdict(fields["verdict"])})
    return Step(**fields)


def _end(code: int, stderr: IO[bytes]) -> str:
    stderr.seek(0)
    if code < 0:  # and what it says of that are addresses
        return f"the process is killed by {signal.Signals(-code).name}"
    lines = stderr.read().decode(errors="replace").strip().splitlines()
    last = f": {lines[-1].strip()[:200]}" if lines else ""
    return f"the process ends with code {code}{last}"


def main() -> None:
    """Hold an exam."""
    _, exam, *arguments = sys.argv
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed here
    for message in importlib.import_module(f".{exam}", __package__).lines(*arguments):
        print(json.dumps(asdict(message)), file=replies, flush=True)


if __name__ == "__main__":
    main()
