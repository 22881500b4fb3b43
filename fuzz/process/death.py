"""The death of a child as a violation: which pass is blamed, and the key of the death."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import PurePath
from traceback import FrameSummary

from ...oracles.text import messages
from ...oracles.text.frames import Trace, frames_in, function_of, is_plumbing
from ...oracles.violation import Violation
from ..output.readable import visible
from ..system import sanitizers
from .protocol import Death, Died, Position

_FRAME = re.compile(r'File "[^"\n]*", line \d+, in ([^\n]+)')
"""As TVM's handler prints it."""
_PYTHON_FRAME = re.compile(r'File "([^"\n]*)", line \d+ in (\S+)')
"""As `faulthandler` prints it."""
_FATAL = "Fatal Python error"
_ENTRY = "tvm/ir/transform.py"
"""Outside of this frame, the call of the pass, all frames are the harness's."""
_PLUMBING = re.compile(
    r"tvm::ffi::|tvm::transform::|TVMFFI|Functor|Visitor::|Mutator::|tvm::runtime::|std::"
    r"|tvm::Type::"
)
"""Frames between any two functions of TVM, which do not point to the cause."""

_UNENCODABLE = "tvm_ffi.core.TVMFFICyErrorSetRaisedFromPyError"
"""Named on stderr where tvm-ffi fails to convert the exception of a pass, because its text holds a
lone surrogate. The C++ caller then dereferences a null pointer."""

RECURSION = 10
"""A function that is on the stack so often recurses without end."""

LONGEST = 8000
"""Characters of stderr in a report."""

RAISED = "Not caught: "
"""Before the name of an exception that ends a process, as the child writes it."""
_RAISED = re.compile(rf"^{RAISED}(\w+)$", re.M)

FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that are no evidence against the process that they end."""

_WITH_STACK = (Death.SEGFAULT, Death.ARITHMETIC, Death.ABORT, Death.SIGNAL)


_OF_SIGNALS = {
    "SEGV": Death.SEGFAULT,
    "BUS": Death.SEGFAULT,
    "stack-overflow": Death.SEGFAULT,
    "FPE": Death.ARITHMETIC,
    "ABRT": Death.ABORT,
    "out-of-memory": Death.OUT_OF_MEMORY,
}
"""Reports of sanitizers on what ends a process without them, too."""


def reported(report: sanitizers.Report) -> Death:
    """The death of a process that a sanitizer has ended."""
    return _OF_SIGNALS.get(report.kind, Death.SANITIZER)


def key_of(report: sanitizers.Report) -> tuple[str, ...]:
    """What is wrong, and the innermost function near the cause."""
    functions = [_plain(frame) for frame in report.frames]
    near = [function for function in functions if not _PLUMBING.search(function)]
    return messages.anonymous(report.kind), *(near or functions)[:1]


def violation(died: Died) -> Violation:
    """The violation of the pass that was running."""
    blamed = culprit(died.position) if died.position is not None else ""
    if died.death is Death.SANITIZER and (report := sanitizers.report(died.stderr)) is not None:
        key = key_of(report)
        title = f"{report.tool}: {' in '.join(key)}"
        detail = visible(report.text[:LONGEST])
        way = [FrameSummary("", 0, name, lookup_line=False) for name in reversed(report.frames)]
        return Violation(
            title,
            detail,
            key,
            trace=Trace(tuple(map(function_of, way)), messages.anonymous(report.kind)),
            oracle=died.death.value,
            pass_name=blamed,
        )
    # The function in which a hang is noticed, or memory runs out, is an accident.
    at = _function(died.stderr) if died.death in _WITH_STACK else ""
    title = f"{_title(died)}{f' in {at}' if at else ''}"
    step = died.position.step if died.position is not None else "start"
    # Before the marker stand the warnings of earlier modules.
    marker = _UNENCODABLE if _UNENCODABLE in died.stderr else _FATAL
    _, found, stack = died.stderr.partition(marker)
    stderr = found + stack if found else died.stderr[-LONGEST:]
    detail = visible(f"{title}\nstep: {step}\n{stderr[:LONGEST]}".rstrip())
    if died.death is Death.CHANGED:  # the last step names what was changed
        at = step
    return Violation(
        title,
        detail,
        (at,) if at else (),
        trace=_trace(died) if died.death in _WITH_STACK else Trace(),
        oracle=died.death.value,
        pass_name=blamed,
    )


def _trace(died: Died) -> Trace:
    """The functions of TVM on the stack; a recursion has each once."""
    frames = [f for f in frames_in(died.stderr) if "tvm::" in f.name and not is_plumbing(f)]
    return Trace(tuple(dict.fromkeys(map(function_of, reversed(frames)))))


def culprit(position: Position) -> str:
    """The pass to blame: the one that the step names, else the last one."""
    words = re.findall(r"\w+", position.step)
    for call in position.calls:
        if call.name in words:
            return call.name
    if position.calls:
        return position.calls[-1].name
    return (
        words[-1] if words and position.pipeline is not None else position.pipeline or position.step
    )


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
            return f"leaves {died.position.step if died.position else 'something'} changed"
        case Death.PARENT:
            return "killed the process that had started its own"
        case _:
            return f"killed the process with {signal.Signals(-died.code).name}"


def _function(stderr: str) -> str:
    """The innermost function near the cause: of TVM, else of a pass in Python; or empty."""
    if _UNENCODABLE in stderr:
        return _UNENCODABLE
    names = [_plain(symbol) for symbol in _FRAME.findall(stderr)]
    names = [name for name in names if name.startswith("tvm::") and not _PLUMBING.search(name)]
    recursive = sorted(name for name, count in Counter(names).items() if count >= RECURSION)
    if recursive:
        return f"endless recursion of {recursive[0]}"
    if names:
        return names[0]
    frames = _PYTHON_FRAME.findall(stderr)
    outer = [at for at, (file, _) in enumerate(frames) if file.endswith(_ENTRY)]
    return f"{PurePath(frames[0][0]).name}:{frames[0][1]}" if outer and outer[0] > 0 else ""


def _plain(symbol: str) -> str:
    """`tvm::relax::Foo::Visit` of `tvm::relax::Foo::Visit(tvm::relax::Expr const&)`."""
    symbol = symbol.strip().removeprefix("non-virtual thunk to ")
    symbol = symbol.replace("(anonymous namespace)::", "")
    depth = 0
    for at, char in enumerate(symbol):
        if char == "(" and depth == 0:
            return symbol[:at]
        depth += {"<": 1, ">": -1}.get(char, 0)
    return symbol
