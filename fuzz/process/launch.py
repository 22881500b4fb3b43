"""Starts the process of a zygote without importing TVM, so that both can import it in parallel."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from ..system.environment import HERE, Environment
from ..system.scratch import scratch

ENTRY = "relaxfuzz.fuzz.zygote"
"""The module that runs as a zygote. It knows the jobs, and its layer is far above this one."""

MARK = "RELAXFUZZ_POOL"
"""The environment variable that marks the descendants of our zygote."""

SHOW = "RELAXFUZZ_SHOW"
"""The environment variable that makes a zygote's children write their output to our stderr. The
zygote receives the descriptor in it."""

ONE_THREAD: Mapping[str, str] = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TVM_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Launched:
    """A zygote's process, which waits for its availability and then for jobs."""

    process: subprocess.Popen[bytes]
    stderr: IO[bytes]
    journals: int
    """Descriptor of a file for journals; the file disappears when all processes have closed it."""
    mark: str
    """The value of the variable `MARK`."""

    def discard(self) -> None:
        """End the process before it has received a job."""
        with self.process, self.stderr:
            self.process.kill()
        os.close(self.journals)


_ahead: Launched | None = None
"""The zygote for the first pool of this process."""


def ahead() -> None:
    """Launch the zygote of a pool that this process will create with its own environment."""
    global _ahead
    with contextlib.suppress(OSError):  # the pool tries again and reports it
        _ahead = launch(HERE)


def taken(environment: Environment) -> Launched:
    """The zygote that was launched ahead, if it suits the environment; otherwise a new one."""
    global _ahead
    if _ahead is None or environment != HERE:
        return launch(environment)
    launched, _ahead = _ahead, None
    return launched


def discard() -> None:
    """End the zygote that was launched ahead, if no pool has taken it."""
    global _ahead
    if _ahead is not None:
        _ahead.discard()
        _ahead = None


def launch(environment: Environment) -> Launched:
    """Start the process of a zygote.

    Raises:
        OSError: it cannot be started.
    """
    journals = memory_file()
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # lives as the zygote
    shown = [os.dup(2)] if SHOW in environment.variables else []
    process = subprocess.Popen(
        [sys.executable, "-m", ENTRY, str(journals)],
        pass_fds=[journals, *shown],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=environment.folder,
        env={
            **environment.all_variables(),
            **ONE_THREAD,
            "TMPDIR": str(scratch()),
            MARK: mark,
            SHOW: "".join(map(str, shown)),
        },
        start_new_session=True,  # Ctrl-C goes to the driver only
    )
    for each in shown:
        os.close(each)
    return Launched(process, stderr, journals, mark)


def memory_file() -> int:
    """Create a file for journals, which vanishes when all have closed it; return its descriptor."""
    if sys.platform == "linux":
        return os.memfd_create("journals")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
