"""Files that are there whole or not at all, whatever ends the process that writes them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

PART = ".part"
"""How the name of a hidden file ends that is not whole yet."""


def write_whole(path: Path, text: str) -> None:
    """Write a text file; when this returns, it is on the disk.

    What no UTF-8 can be (a lone surrogate) is written as Python spells it in a literal.
    """
    path.parent.mkdir(exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=PART)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
