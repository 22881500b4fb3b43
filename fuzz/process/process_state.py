"""The state of a process that no pass may change, as the whole program depends on it.

Each part is a Python expression, so that a reproducer can evaluate it before and after.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import tvm

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
"""Parts of the state, by name, that are compared around every check of a user's own pass."""

VITAL = frozenset({"the standard streams", "sys.stdout or sys.stderr", "the alarm clock"})
"""Parts whose change may kill a process before it can report the change."""

_MAY_GROW = frozenset({"sys.path", "sys.modules"})

_UNKNOWN = object()


def question(what: str) -> tuple[str, str]:
    """The modules to import, and the expression to evaluate before and after a run, for a part."""
    expression = PARTS[what]
    return ", ".join(name for name in _NAMES if f"{name}." in expression), expression


class StateWatch:
    """Finds changes made by a check; it compares only if a pass is the user's own."""

    def __init__(self, calls: Sequence[PassCall]) -> None:
        users = any(call.factory is not None for call in calls)
        watched = _COMPILED if users else {}
        self._values = {what: _value(code) for what, code in watched.items()}

    def changed(self) -> str | None:
        """Return the first part whose value differs now."""
        for what, then in self._values.items():
            now = _value(_COMPILED[what])
            if now is _UNKNOWN or then is _UNKNOWN:
                same = now is then
            else:
                same = now == then or (what in _MAY_GROW and then <= now)
            if not same:
                return what
        return None

    def end(self, journal: Journal) -> None:
        """End the process if something has changed, as the change would affect the next check."""
        what = self.changed()
        if what is not None:
            journal.guard()
            journal.changed(what)
            os._exit(1)


def _value(code: types.CodeType) -> Any:
    try:
        return eval(code, _NAMES)
    except Exception:
        return _UNKNOWN


_NAMES = {
    "gc": gc,
    "os": os,
    "signal": signal,
    "sys": sys,
    "tvm": tvm,
    "warnings": warnings,
}
_COMPILED = {what: compile(text, what, "eval") for what, text in PARTS.items()}
