"""Reading TVMScript, faster."""

from __future__ import annotations

import contextlib
import inspect
import linecache
from collections.abc import Iterator
from types import FrameType

import tvm


def read_script(text: str, *, check_well_formed: bool = True) -> tvm.IRModule:
    """`tvm.script.from_source` for a whole module; not to be used in several threads at a time.

    Raises:
        Exception: any exception of the parser for a text that it refuses.
    """
    with quick_frames():
        made = tvm.script.from_source(text, check_well_formed=check_well_formed)
    assert isinstance(made, tvm.IRModule)
    return made


@contextlib.contextmanager
def quick_frames() -> Iterator[None]:
    """Replace `inspect.getouterframes` by `outer_frames`, to read or execute TVMScript faster."""
    before = inspect.getouterframes
    inspect.getouterframes = outer_frames
    try:
        yield
    finally:
        inspect.getouterframes = before


def outer_frames(frame: FrameType | None, context: int = 1) -> list[inspect.FrameInfo]:
    """`inspect.getouterframes` with at most one line of each frame, and without module lookup.

    TVMScript's decorators request all frames. For each, inspect searches all loaded modules: this
    takes a quarter of the parser's time, and more if more modules are loaded.
    """
    found = []
    while frame is not None:
        code, number = frame.f_code, frame.f_lineno
        line = linecache.getline(code.co_filename, number) if context else ""
        lines, index = ([line], 0) if line else (None, None)
        found.append(inspect.FrameInfo(frame, code.co_filename, number, code.co_name, lines, index))
        frame = frame.f_back
    return found
