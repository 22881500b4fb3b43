"""Read untrusted files so that they can neither block nor fill the memory."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LONGEST = 4_000_000
"""Bytes of a file written by hand, generously."""

LONGEST_GENERATED = 100_000_000
"""Bytes of a generated file: modules with constants are long."""


def read_text(path: Path, most: int = LONGEST, *, errors: str = "strict") -> str:
    """The text of a regular file.

    Args:
        errors: how bytes that are not UTF-8 are handled, as for `open`.

    Raises:
        OSError: it cannot be opened, is not a regular file (reading a pipe could block forever), or
            has more bytes than `most`; `strerror` names the reason.
        ValueError: it is not UTF-8 and `errors` is strict, or the path is not valid.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, encoding="utf-8", errors=errors) as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", str(path))
        if about.st_size > most:
            raise OSError(errno.EFBIG, f"is larger than {most:,} bytes", str(path))
        return file.read(most)
