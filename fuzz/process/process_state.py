"""The state of a process that no pass may change, because the whole program depends on it.

Each part is a Python expression, so that a reproducer can evaluate the same before and after.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tvm
import tvm_ffi

from ...oracles.passcall import PassCall
from .journal import Journal

PARTS: Mapping[str, str] = {
    "the standard streams": "[os.fstat(end)[1:3] for end in (0, 1, 2)]",
    "sys.stdout or sys.stderr": "[(each, each.closed) for each in (sys.stdout, sys.stderr)]",
    "the room for open files": "os.close(os.open(os.devnull, os.O_RDONLY))",
    "the working directory": "os.getcwd()",
    "the umask": "[os.umask(was := os.umask(0o77)), was][1]",
    "the handlers of signals": (
        "[signal.getsignal(getattr(signal, 'SIG' + name)) "
        "for name in ('INT', 'TERM', 'HUP', 'CHLD', 'ALRM', 'PIPE', 'USR1', 'USR2')]"
    ),
    "the blocked signals": "signal.pthread_sigmask(signal.SIG_BLOCK, [])",
    "the alarm clock": "bool(signal.getitimer(signal.ITIMER_REAL)[0])",
    "the garbage collector": "gc.isenabled()",
    "the warnings that are errors": "[each for each in warnings.filters if each[0] == 'error']",
    "sys.path": "set(sys.path)",
    "sys.modules": "sys.modules.__len__()",
    "the PassContext": "tvm.transform.PassContext.current()",
    "the target": "tvm.target.Target.current(allow_none=True)",
}
"""By name: what is compared before and after every check of a user's own pass."""

VITAL = frozenset({"the standard streams", "sys.stdout or sys.stderr", "the alarm clock"})
"""Parts whose change may end a process before it can report it."""

_MAY_GROW = frozenset({"sys.path", "sys.modules"})

_ROOTS = ("tvm", "tvm_ffi", "relaxfuzz")
_OTHERS = (
    "builtins",
    "json",
    "mmap",
    "os",
    "shutil",
    "signal",
    "struct",
    "sys",
    "tempfile",
    "time",
)
"""Modules of the standard library whose functions are compared, too."""

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type)

_UNKNOWN = object()


def question(what: str) -> tuple[str, str]:
    """The modules to import, and the expression to evaluate before and after a run.

    Args:
        what: the name of a part, or the expression of a function.
    """
    expression = PARTS.get(what, what)
    if what in PARTS:
        used = [name for name in _NAMES if f"{name}." in expression]
    elif expression.startswith("tvm_ffi.get_global_func("):
        used = ["tvm", "tvm_ffi"]
    else:
        used = [expression]
        while used[0] not in sys.modules:
            used = [used[0].rpartition(".")[0]]
    return ", ".join(used), expression


def warm_up() -> None:
    """Record all functions as they are before any pass has run."""
    global _functions
    _functions = Functions()


class Watch:
    """Finds what a check has changed; it compares only where a pass is the user's own.

    All parts are compared after each check. Functions take milliseconds, so they are compared
    after the first check of each pass in a process.
    """

    def __init__(self, calls: Sequence[PassCall]) -> None:
        self._names = [call.expr for call in calls if call.factory is not None]
        self._parts = Parts() if self._names else None

    def changed(self) -> str | None:
        """The part, or the expression of the function, that has changed."""
        if self._parts is None:
            return None
        what = self._parts.changed()
        if what is None and _functions is not None and not _looked.issuperset(self._names):
            what = _functions.changed()
            _looked.update(self._names)
        return what

    def end(self, journal: Journal) -> None:
        """End the process if something has changed: the next check would suffer from it."""
        what = self.changed()
        if what is not None:
            journal.guard()
            journal.changed(what)
            os._exit(1)


class Parts:
    """The values of all parts at one time."""

    def __init__(self) -> None:
        self._values = {what: _value(code) for what, code in _COMPILED.items()}

    def changed(self) -> str | None:
        """The first part with another value now."""
        for what, code in _COMPILED.items():
            now, then = _value(code), self._values[what]
            if now is _UNKNOWN or then is _UNKNOWN:
                same = now is then
            else:
                same = now == then or (what in _MAY_GROW and then <= now)
            if not same:
                return what
        return None


class Functions:
    """The functions and classes of modules, and TVM's global functions, at one time."""

    def __init__(self) -> None:
        self._names = list(_names())
        self._named = {
            name: tvm_ffi.get_global_func(name)
            for name in tvm_ffi.registry.list_global_func_names()
        }

    def changed(self) -> str | None:
        """The expression of the first one that is another object now."""
        for names, name, function, path in self._names:
            if names.get(name) is not function:
                return f"{path}.{name}"
        for name, function in self._named.items():
            if tvm_ffi.get_global_func(name, allow_missing=True) != function:
                return f"tvm_ffi.get_global_func({name!r})"
        return None


def _names() -> Iterator[tuple[Mapping[str, Any], str, object, str]]:
    """Every name of a function or a class: its namespace, the name, the object, the path."""
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] not in _ROOTS and path not in _OTHERS:
            continue
        for name, value in list(vars(module).items()):
            if not isinstance(value, _FUNCTIONS):
                continue
            yield vars(module), name, value, path
            if isinstance(value, type) and value.__module__ == path:
                for method, function in list(vars(value).items()):
                    if isinstance(function, types.FunctionType):
                        yield vars(value), method, function, f"{path}.{name}"


def _value(code: types.CodeType) -> Any:
    try:
        return eval(code, _NAMES)
    except Exception:
        return _UNKNOWN


_functions: Functions | None = None
_looked: set[str] = set()
"""Passes after whose first check all functions were looked at."""

_NAMES = {
    "gc": gc,
    "os": os,
    "signal": signal,
    "sys": sys,
    "tvm": tvm,
    "warnings": warnings,
}
_COMPILED = {what: compile(text, what, "eval") for what, text in PARTS.items()}
