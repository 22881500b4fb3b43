"""Starts commands that run foreign code, so that none of their processes outlives this process."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from . import supervisor

END_SECONDS = 10.0
"""Seconds for a killed command to end, on a busy machine."""


class Supervised(subprocess.Popen[bytes]):
    """A command that ends with all its descendants, at the latest with this process.

    It has the exit code of the command, see `supervisor`.
    """

    def __init__(self, command: Sequence[str], *, processes: int = 0, **options: Any) -> None:
        """
        Args:
            processes: the most processes that it may have at a time; 0: any number.
            options: those of `subprocess.Popen`.

        Raises:
            OSError: the command cannot be started.
        """
        variables = options.get("env") or os.environ
        if shutil.which(command[0], path=variables.get("PATH")) is None:
            reason = errno.EACCES if os.path.exists(command[0]) else errno.ENOENT
            raise OSError(reason, os.strerror(reason), command[0])
        self._lock = threading.Lock()
        read, lifeline = os.pipe()
        self._lifeline: int | None = lifeline
        whole = [sys.executable, "-I", "-S", supervisor.__file__, str(read), str(processes)]
        try:
            super().__init__([*whole, *command], pass_fds=[read], **options)
        except BaseException:
            self.cut()
            raise
        finally:
            os.close(read)

    def cut(self) -> None:
        """Have the command and its descendants killed, without waiting; from any thread."""
        with self._lock:
            if self._lifeline is not None:
                os.close(self._lifeline)
                self._lifeline = None

    def end(self) -> None:
        """Kill the command and its descendants, unless they have ended, and wait for their end."""
        self.cut()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(END_SECONDS)
            return
        self.kill()
        self.wait()

    def __exit__(self, *exc_info: object) -> None:
        self.end()
        super().__exit__(None, None, None)
