"""The lines of Python files that run while a pass runs.

From Python 3.12 on, `sys.monitoring` reports each line once. On older versions, only functions of
the watched files are traced.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from types import CodeType, FrameType
from typing import Any, TypeAlias

import tvm

TVM = os.path.dirname(os.path.abspath(tvm.__file__))

PARTS_OF_TVM = (
    "relax/backend",
    "relax/op/_op_gradient.py",
    "relax/training",
    "relax/transform",
    "s_tir/dlight",
    "s_tir/transform",
    "tirx/transform",
    "topi",
)
"""Parts of TVM's Python package that implement passes and the rules they apply."""

SHORT = "tvm/"
"""Start of the name of a TVM file, whose folder differs between machines."""

INSTALLED = "site-packages"
"""A folder of this name holds packages that are not the user's own."""

Lines: TypeAlias = dict[str, set[int]]
"""Line numbers by file name: a file's path; for TVM's files, the path from the package on."""

_monitoring: Any = getattr(sys, "monitoring", None)


class LineRecorder:
    """Records the lines of some files that run within `watched`, each once."""

    def __init__(self, folders: Collection[str] = ()) -> None:
        """
        Args:
            folders: the folders whose files are watched, besides those of TVM.
        """
        self._folders = tuple(map(os.path.abspath, folders))
        self._parts = tuple(os.path.join(TVM, *part.split("/")) for part in PARTS_OF_TVM)
        if _monitoring is not None:
            _monitoring.restart_events()  # another recorder may have seen the lines already
        self._seen: Lines = defaultdict(set)
        self._new: Lines = defaultdict(set)
        self.name_of = functools.lru_cache(maxsize=None)(self._name_of)
        """The name of the file that defines a function; None for a file that is not watched."""

    def take(self) -> Lines:
        """The lines that ran for the first time since the last call."""
        taken, self._new = self._new, defaultdict(set)
        return dict(taken)

    def ran(self, code: CodeType, line: int) -> None:
        """Record a line of a function."""
        name = self.name_of(code)
        if name is not None and line not in self._seen[name]:
            self._seen[name].add(line)
            self._new[name].add(line)

    def _name_of(self, code: CodeType) -> str | None:
        path = os.path.abspath(code.co_filename)
        if any(_is_in(path, part) for part in self._parts):
            return SHORT + os.path.relpath(path, TVM).replace(os.sep, "/")
        for folder in self._folders:
            if _is_in(path, folder) and INSTALLED not in os.path.relpath(path, folder):
                return path
        return None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Record the lines that run meanwhile, unless something else traces this process."""
        if _monitoring is not None:
            with self._monitored():
                yield
        elif sys.gettrace() is not None:
            yield
        else:
            sys.settrace(self._called)
            try:
                yield
            finally:
                sys.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        return None if self.name_of(frame.f_code) is None else self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.ran(frame.f_code, frame.f_lineno)
        return self._line

    @contextlib.contextmanager
    def _monitored(self) -> Iterator[None]:
        tool = next((id for id in (3, 4) if _monitoring.get_tool(id) in (None, __name__)), None)
        if tool is None:
            yield
            return
        line = _monitoring.events.LINE
        if _monitoring.get_tool(tool) is None:
            _monitoring.use_tool_id(tool, __name__)
        _monitoring.register_callback(tool, line, self._monitored_line)
        _monitoring.set_events(tool, line)
        try:
            yield
        finally:
            _monitoring.set_events(tool, 0)

    def _monitored_line(self, code: CodeType, line: int) -> Any:
        self.ran(code, line)
        return _monitoring.DISABLE


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


_recorder: LineRecorder | None = None


def record(recorder: LineRecorder | None) -> None:
    """Let this recorder record the lines of all passes that run in this process; None: stop."""
    global _recorder
    _recorder = recorder


def watched() -> contextlib.AbstractContextManager[None]:
    """The context in which a pass runs."""
    return contextlib.nullcontext() if _recorder is None else _recorder.watching()
