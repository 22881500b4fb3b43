"""Clean rejections: exceptions by which a pass of which nothing is known refuses a module.

A contract lists the rejections of its pass. Where there is no contract, a rejection is clean if the
author of the pass wrote it for a person: the pass itself raises it, on purpose, with a message that
names what is not supported or what the pass requires.
"""

from __future__ import annotations

import re

from tvm.error import InternalError

from . import keys

_UNSUPPORTED = re.compile(
    r"\b(?:un(?:supported|implemented)|only (?:\w+ )?(?:support|handle|accept|work)"
    r"|(?:support|handle|accept|work)(?:s|ed) (?:\w+ )?only"
    r"|(?:not|n't|cannot)(?: \w+){0,2} (?:support|implement|handle|work|enable|install))",
    re.IGNORECASE,
)

_REQUIRED = re.compile(r"\b(?:must|should|expect|requir|needs? )", re.IGNORECASE)
"""Also what failed internal checks say: it counts in errors for users alone."""

_OTHERS = re.compile(r"relax/op/|/topi/|/te/|/ffi/|tvm_ffi|<unknown>|<frozen")
"""Sources that raise because a pass has used them wrongly."""


def is_clean(error: Exception) -> bool:
    """The exception names what the pass does not support, or what it requires."""
    text = keys.explanation(keys.text_of(error))
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] != "tvm"  # else a package that is optional
    if not text or not isinstance(error, RuntimeError | ValueError | TypeError):
        return False
    if not _on_purpose(error):
        return False
    if isinstance(error, NotImplementedError) or _UNSUPPORTED.search(text):
        return True
    return not isinstance(error, InternalError) and bool(_REQUIRED.search(text))


def _on_purpose(error: Exception) -> bool:
    """The pass raises it with a statement of its own.

    Python raises TypeErrors by itself, and operators refuse wrong operands.
    """
    frames = keys.frames_of(error)
    if not frames or _OTHERS.search(frames[-1].filename):
        return False
    written_in_python = frames[-1].filename.endswith(".py")
    return not written_in_python or (frames[-1].line or "").startswith("raise")
