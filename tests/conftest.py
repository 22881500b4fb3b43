"""What all tests share."""

from __future__ import annotations

import inspect
import linecache
from types import FrameType


def _frames(frame: FrameType | None, context: int = 1) -> list[inspect.FrameInfo]:
    """`inspect.getouterframes`, which looks for no module.

    TVMScript's decorators ask for all frames. For each, inspect looks through all loaded modules:
    that took two thirds of the time in which the tests are collected.
    """
    found = []
    while frame is not None:
        code, line = frame.f_code, frame.f_lineno
        lines = [linecache.getline(code.co_filename, line)] if context else None
        found.append(inspect.FrameInfo(frame, code.co_filename, line, code.co_name, lines, 0))
        frame = frame.f_back
    return found


inspect.getouterframes = _frames
