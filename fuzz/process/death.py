"""The death of a child as a violation: who is blamed, and what tells it from other deaths."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import PurePath

from ...oracles.violation import Violation
from ..output.readable import visible
from .protocol import Death, Died, Place

_FRAME = re.compile(r'File "[^"\n]*", line \d+, in ([^\n]+)')
"""As TVM's handler prints it."""
_PYTHON_FRAME = re.compile(r'File "([^"\n]*)", line \d+ in (\S+)')
"""As `faulthandler` prints it."""
_FATAL = "Fatal Python error"
_ENTRY = "tvm/ir/transform.py"
"""Frames further out than the call of the pass are ours."""
_PLUMBING = re.compile(
    r"tvm::ffi::|tvm::transform::|TVMFFI|Functor|Visitor::|Mutator::|tvm::runtime::|std::"
    r"|tvm::Type::"
)
"""Frames that lie between any two functions of TVM, and tell nothing of the cause."""

RECURSION = 10
"""A function on the stack so often has not stopped calling itself."""

LONGEST = 8000
"""Characters of last words in a report."""

RAISED = "Not caught: "
"""Before the name of an exception that ends a process, as the child writes it."""
_RAISED = re.compile(rf"^{RAISED}(\w+)$", re.M)

FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that say nothing against the process that they end."""

_TELLING = (Death.SEGFAULT, Death.ARITHMETIC, Death.ABORT, Death.SIGNAL)


def violation(died: Died) -> Violation:
    """What a death says of the pass that was running."""
    blamed = culprit(died.place) if died.place is not None else ""
    # Where a hang or a memory blow-up is met is an accident.
    at = _function(died.stderr) if died.death in _TELLING else ""
    title = f"{_title(died)}{f' in {at}' if at else ''}"
    step = died.place.step if died.place is not None else "start"
    _, fatal, story = died.stderr.partition(_FATAL)  # before it: warnings of the modules before
    words = fatal + story if fatal else died.stderr[-LONGEST:]
    detail = visible(f"{title}\nstep: {step}\n{words[:LONGEST]}".rstrip())
    if died.death is Death.CHANGED:  # its last step
        at = step
    key = (at,) if at else ()
    return Violation(title, detail, key, oracle=died.death.value, pass_name=blamed)


def culprit(place: Place) -> str:
    """The pass to blame: the one that the step names, or the last one."""
    words = re.findall(r"\w+", place.step)
    for call in place.calls:
        if call.name in words:
            return call.name
    if place.calls:
        return place.calls[-1].name
    return words[-1] if words and place.pipeline is not None else place.pipeline or place.step


def _title(died: Died) -> str:
    match died.death:
        case Death.SEGFAULT:
            return "segmentation fault"
        case Death.ARITHMETIC:
            return "arithmetic signal (SIGFPE)"
        case Death.ABORT:
            return "aborted the process"
        case Death.HANG:
            return "no progress within the time limit"
        case Death.OUT_OF_MEMORY if died.code > 0:
            return "stopped by MemoryError or std::bad_alloc"
        case Death.OUT_OF_MEMORY:
            return "memory grew beyond the limit"
        case Death.EXIT:
            raised = _RAISED.search(died.stderr)
            how = f"by raising {raised[1]}" if raised else f"with exit code {died.code}"
            return f"ended the process {how}"
        case Death.CHANGED:
            return f"leaves {died.place.step if died.place else 'something'} changed"
        case Death.PARENT:
            return "killed the process that had started its own"
        case _:
            return f"killed the process with {signal.Signals(-died.code).name}"


def _function(stderr: str) -> str:
    """The innermost function that tells something: of TVM, else of a pass in Python; or empty."""
    names = [_plain(symbol) for symbol in _FRAME.findall(stderr)]
    names = [name for name in names if name.startswith("tvm::") and not _PLUMBING.search(name)]
    recursive = sorted(name for name, count in Counter(names).items() if count >= RECURSION)
    if recursive:
        return f"endless recursion of {recursive[0]}"
    return names[0] if names else _python_function(stderr)


def _python_function(stderr: str) -> str:
    frames = _PYTHON_FRAME.findall(stderr)
    outer = [at for at, (file, _) in enumerate(frames) if file.endswith(_ENTRY)]
    return f"{PurePath(frames[0][0]).name}:{frames[0][1]}" if outer and outer[0] > 0 else ""


def _plain(symbol: str) -> str:
    """`tvm::relax::Foo::Visit` of `tvm::relax::Foo::Visit(tvm::relax::Expr const&)`."""
    symbol = symbol.strip().removeprefix("non-virtual thunk to ")
    depth = 0
    for at, char in enumerate(symbol):
        if char == "(" and depth == 0:
            return symbol[:at]
        depth += {"<": 1, ">": -1}.get(char, 0)
    return symbol
