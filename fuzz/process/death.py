"""The death of a child as a violation: the pass to blame, and the key of the death."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import PurePath

from ...oracles.text.frames import Trace, frames_in, function_of, is_plumbing
from ...oracles.violation import Violation
from ..output.readable import visible
from ..system.limits import PROCESSES
from .protocol import Death, Died, Position

_FRAME = re.compile(r'File "[^"\n]*", line \d+, in ([^\n]+)')
"""A frame in the format of TVM's handler."""
_PYTHON_FRAME = re.compile(r'File "([^"\n]*)", line \d+ in (\S+)')
"""A frame in the format of `faulthandler`."""
_FATAL = "Fatal Python error"
_ENTRY = "tvm/ir/transform.py"
"""The file that contains the call of the pass; all frames outside it belong to the harness."""
_PLUMBING = re.compile(
    r"tvm::ffi::|tvm::transform::|TVMFFI|Functor|Visitor::|Mutator::|tvm::runtime::|std::"
    r"|tvm::Type::"
)
"""Frames that occur between any two functions of TVM and do not point to the cause."""

_UNENCODABLE = "tvm_ffi.core.TVMFFICyErrorSetRaisedFromPyError"
"""Name on stderr if tvm-ffi fails to convert a pass's exception because its text has a lone
surrogate. The C++ caller then dereferences a null pointer."""

RECURSION = 10
"""Occurrences of a function on the stack that count as endless recursion."""

LONGEST = 8000
"""Most characters of stderr that a report keeps."""

RAISED = "Not caught: "
"""Text that the child writes before the name of an exception that ends it."""
_RAISED = re.compile(rf"^{RAISED}(\w+)$", re.M)

FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that do not incriminate the process that they end."""

_WITH_STACK = (Death.SEGFAULT, Death.ARITHMETIC, Death.ABORT, Death.SIGNAL)


def violation(died: Died) -> Violation:
    """The violation by the pass that was running."""
    blamed = culprit(died.position) if died.position is not None else ""
    # The function in which a hang is noticed, or memory runs out, is accidental.
    at = _function(died.stderr) if died.death in _WITH_STACK else ""
    title = f"{_title(died)}{f' in {at}' if at else ''}"
    step = died.position.step if died.position is not None else "start"
    # The text before the marker has the warnings of earlier modules.
    marker = _UNENCODABLE if _UNENCODABLE in died.stderr else _FATAL
    _, found, stack = died.stderr.partition(marker)
    stderr = found + stack if found else died.stderr[-LONGEST:]
    detail = visible(f"{title}\nstep: {step}\n{stderr[:LONGEST]}".rstrip())
    if died.death is Death.CHANGED:  # the last step names the changed thing
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
    """The functions of TVM on the stack; each function of a recursion occurs once."""
    frames = [f for f in frames_in(died.stderr) if "tvm::" in f.name and not is_plumbing(f)]
    return Trace(tuple(dict.fromkeys(map(function_of, reversed(frames)))))


def culprit(position: Position) -> str:
    """The pass to blame: the one named by the step, else the last one."""
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
        case Death.PROCESSES:
            return f"started more than {PROCESSES} processes"
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
    """The innermost function near the cause: one of TVM, else one of a Python pass; or empty."""
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
    """Shorten `tvm::relax::Foo::Visit(tvm::relax::Expr const&)` to `tvm::relax::Foo::Visit`."""
    symbol = symbol.strip().removeprefix("non-virtual thunk to ")
    symbol = symbol.replace("(anonymous namespace)::", "")
    depth = 0
    for at, char in enumerate(symbol):
        if char == "(" and depth == 0:
            return symbol[:at]
        depth += {"<": 1, ">": -1}.get(char, 0)
    return symbol
