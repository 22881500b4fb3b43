"""Clean rejections: exceptions by which a pass without a contract may refuse a module.

A contract lists the rejections of its pass. Without a contract, a rejection is clean if its author
addressed users: the pass itself raises it, on purpose, with a message that names an unsupported
feature or a requirement of the pass.

Every pass may refuse a module that lacks a function named in the pass's arguments.
"""

from __future__ import annotations

import re

import tvm
from tvm.error import InternalError

from .text import messages
from .text.frames import frames_of

_UNSUPPORTED = re.compile(
    r"\b(?:un(?:supported|implemented)|only (?:\w+ )?(?:support|handle|accept|work)"
    r"|(?:support|handle|accept|work)(?:s|ed) (?:\w+ )?only"
    r"|(?:not|n't|cannot)(?: \w+){0,2} (?:support|implement|handle|work|enable|install)"
    # Another pass must run first.
    r"|should have been|make sure)",
    re.IGNORECASE,
)

_REQUIRED = re.compile(r"\b(?:must|should|expect|requir|needs? )", re.IGNORECASE)
"""Wording that counts only in errors for users, since failed internal checks also use it."""

_OTHERS = re.compile(r"/relax/op/|/tvm/topi/|/(?:src|tvm)/te/|/src/ffi/|tvm[-_]ffi|^<")
"""Sources whose exceptions mean that a pass has used them wrongly."""


def is_clean(error: Exception) -> bool:
    """True if the exception names something that the pass does not support or requires."""
    frames = frames_of(error)
    text = messages.explanation(messages.text_of(error))
    if not frames or not text or not isinstance(error, RuntimeError | ValueError | TypeError):
        return False
    file, line = frames[-1].filename, frames[-1].line or ""
    # Python itself raises TypeErrors, and operators refuse wrong operands from a pass.
    if _OTHERS.search(file) or (file.endswith(".py") and not line.startswith("raise")):
        return False
    # NotImplementedError leaves TVM as a RuntimeError.
    if line.startswith("raise NotImplementedError") or _UNSUPPORTED.search(text):
        return True
    return not isinstance(error, InternalError) and bool(_REQUIRED.search(text))


_LACKS = re.compile(r'Cannot find global var "([^"]+)" in the Module')


def lacks_function(error: Exception, call: str, mod: tvm.IRModule) -> bool:
    """True if the message names a function that the pass's arguments name and the module lacks.

    Args:
        call: the expression of the pass.
    """
    found = _LACKS.search(messages.text_of(error))
    if found is None or any(gvar.name_hint == found[1] for gvar in mod.get_global_vars()):
        return False
    return re.search(rf"""(['"]){re.escape(found[1])}\1""", call) is not None
