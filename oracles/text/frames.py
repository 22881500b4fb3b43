"""Traces: the functions between a pass and the throw, and the condition that failed there."""

from __future__ import annotations

import posixpath
import re
import traceback
from dataclasses import dataclass

from ...compat.release import versions

Frames = list[traceback.FrameSummary]

_PLUMBING = re.compile(r"^(?:TVMFFI|tvm_ffi\.|std::|_start|<\w+>$|report_error$)")
"""Functions of the foreign function interface and of the C++ library; nameless Python functions,
which some versions inline; and the function by which the parser reports all errors."""

_OUTSIDE = re.compile(
    r"/compat/\w+\.py$|tvm_ffi/|/ffi/|<frozen|<string>|/contextlib\.py$|/runpy\.py$"
    r"|/parser/core/diagnostics\.py$|/relaxfuzz/(?:oracles|fuzz|generators|compat)/"
)
"""Files of the foreign function interface, the Python library, the parser's reports and relaxfuzz.
"""

CONDITION = re.compile(r"Check failed: (.*?)(?: is false\b| \(\S+ vs\. \S+\) ?:|$)", re.M)
"""The source text of a failed check, which is the same for every module."""

_NAMESPACE = re.compile(r"\b(?:tvm::)?(?:arith|ir|prim|relax|s_tir|sym|tirx?)::")
"""Namespaces of the compiler's parts; they are dropped, since classes move between them."""

_OVERLOADED = re.compile(r"(?:Visit|Mutate|Rewrite)\w*_$")
"""Methods of a visitor that exist once for each kind of node, their first parameter."""

_NODE = re.compile(r"(\w+Node)\b")

_ELEMENTWISE = re.compile(r"topi/(?:broadcast|math)\.py$|legalize_ops/(?:common|unary|binary)\.py$")
"""Files of elementwise operators, which share their code, so the operator is accidental."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The call path from a pass to the throw."""

    functions: tuple[str, ...] = ()
    """The functions from the pass to the throw, the innermost last. C++ functions are without TVM's
    namespaces, parameters and templates; Python functions follow the name of their file."""
    condition: str = ""
    """Source text of the condition that failed, or of the Python line that raised; else the TVM
    container that raised, `file:line (version)` of the throw in C++, or the exception's class."""


def frames_of(error: BaseException) -> Frames:
    """The frames that the exception passed, C++ ones included, the innermost last."""
    return list(traceback.extract_tb(error.__traceback__))


def cause_of(error: BaseException) -> BaseException:
    """The exception, or the original one if TVM's parser reports it under another."""
    while type(error).__name__ == "DiagnosticError" and error.__context__ is not None:
        error = error.__context__
    return error


_FRAME = re.compile(r'^  File "([^"\n]*)", line (\d+), in ([^\n]+)(?:\n    (\S[^\n]*))?', re.M)


def frames_in(text: str) -> Frames:
    """The frames of a printed traceback, or of the backtrace that TVM's signal handler prints."""
    return [
        traceback.FrameSummary(file, int(line), name, lookup_line=False, line=source or "")
        for file, line, name, source in _FRAME.findall(text)
    ]


def inside(frames: Frames) -> Frames:
    """The frames within the innermost pass; all frames if no pass was called."""
    entries = [i for i, frame in enumerate(frames) if _is_entry(frame)]
    return frames[entries[-1] + 1 :] if entries else frames


_ENTRY = "/ir/transform.py"
"""The file with the method that runs a pass."""


def _is_entry(frame: traceback.FrameSummary) -> bool:
    return frame.filename.endswith(_ENTRY) and frame.name == "__call__"


def trace(frames: Frames, kind: str, text: str) -> Trace:
    """The trace of an exception.

    Args:
        frames: the frames within the pass; see `inside`.
        kind: the class of the exception.
        text: the message of the exception.
    """
    throw = _throw_of_library(frames)
    frames = [frame for frame in frames if not is_plumbing(frame)]
    functions = tuple(dict.fromkeys(map(function_of, frames)))
    return Trace(functions, _condition(frames, throw, kind, text))


def _condition(frames: Frames, throw: str, kind: str, text: str) -> str:
    if found := condition_in(text):
        return found
    if throw:
        return throw
    last = frames[-1] if frames else None
    if last is not None and last.filename.endswith(".py"):
        return (last.line or "").strip()
    if last is not None and last.lineno:
        return f"{short(last.filename)}:{last.lineno} ({versions()['tvm']})"
    return kind


def condition_in(text: str) -> str:
    """The source text of the failed check, as quoted in a message; or empty."""
    found = CONDITION.search(text)
    return _NAMESPACE.sub("", found[1]) if found else ""


def _throw_of_library(frames: Frames) -> str:
    """The function of TVM's containers that raised, e.g. `ffi::Optional::value`; or empty."""
    if not frames or "/ffi/" not in frames[-1].filename or frames[-1].filename.endswith(".pxi"):
        return ""
    return function_of(frames[-1])


def is_plumbing(frame: traceback.FrameSummary) -> bool:
    """True for frames that exceptions pass through regardless of their cause."""
    name = _without_parameters(frame.name)
    return _PLUMBING.search(name) is not None or _OUTSIDE.search(frame.filename) is not None


def function_of(frame: traceback.FrameSummary) -> str:
    """The name of a function in a trace. Examples:

    `WellFormedChecker::VisitExpr_(GlobalVarNode)`, `relax/transform/legalize_ops/nn.py:_conv2d`.
    """
    if frame.filename.endswith(".py"):
        file = short(frame.filename)
        return file if _ELEMENTWISE.search(file) else f"{file}:{frame.name}"
    name = _without_parameters(frame.name)
    node = _NODE.search(frame.name[frame.name.find(name) + len(name) :])
    name = _NAMESPACE.sub("", name).removeprefix("tvm::").removeprefix("transform::")
    return f"{name}({node[1]})" if node and _OVERLOADED.search(name) else name


def _without_parameters(name: str) -> str:
    """The bare name of a function of C++.

    `tvm::Foo::Visit` for `virtual void tvm::Foo::Visit(const Expr&) [with T = int]`.
    """
    name = name.replace("(anonymous namespace)::", "").replace("operator()", "operator_call")
    kept, depth = "", 0
    for char in name:
        if char == "(" and depth == 0:
            break
        depth += {"<": 1, ">": -1}.get(char, 0)
        if depth == 0 and char != ">":
            kept += char
    return kept.split()[-1] if kept.split() else name


def short(file: str) -> str:
    """The path of a file relative to its source root, which differs between machines."""
    file = posixpath.normpath(file)
    for root in ("/src/", "/include/", "/site-packages/tvm/", "/python/tvm/"):
        if root in file:
            return file.rsplit(root, 1)[1]
    return file.rsplit("/", 1)[-1]


def origin(frames: Frames) -> tuple[str, int]:
    """File and line of the throw, or nothing; for people."""
    known = [frame for frame in frames if frame.lineno and not is_plumbing(frame)]
    return (short(known[-1].filename), known[-1].lineno or 0) if known else ("", 0)


LEGALIZATION = "legalization"
ARITHMETIC = "arithmetic"

_ANALYZER = re.compile(r"tvm::(?:arith|sym)::(?!\w*WithAnalyzer)")
"""Functions of TVM's arithmetic; visitors that passes derive from merely hold an Analyzer."""

_TOLD = re.compile(r"::(?:Bind|EnterConstraint|MarkGlobal\w*)$")
"""Functions that tell the Analyzer facts; the calling pass is to blame for contradictions."""


def within(frames: Frames) -> str:
    """The TVM code that raised, if many passes share it; else empty."""
    if any("legalize_ops/" in frame.filename for frame in frames):
        return LEGALIZATION
    called = [frame for frame in frames if not is_plumbing(frame)]
    own = [frame for frame in called if _is_arithmetic(frame)]
    # A contradiction is found by the Analyzer itself; code that it calls refuses what it makes.
    contradicts = called[-1:] == own[-1:] and any(_TOLD.search(function_of(each)) for each in own)
    return ARITHMETIC if own and not contradicts else ""


def from_within(frames: Frames) -> Frames:
    """The frames from the shared code that raised onwards; all frames if none did."""
    match within(frames):
        case "":
            return frames
        case found if found == ARITHMETIC:
            start = [_is_arithmetic(frame) for frame in reversed(frames)].index(True)
            return frames[len(frames) - 1 - start :]
        case _:
            start = ["legalize_ops/" in frame.filename for frame in frames].index(True)
            return frames[start:]


def _is_arithmetic(frame: traceback.FrameSummary) -> bool:
    in_python = "/tvm/sym/" in frame.filename or "/tvm/arith/" in frame.filename
    return in_python or _ANALYZER.match(_without_parameters(frame.name)) is not None


def own(frames: Frames) -> str:
    """`file:function` of the innermost frame in a user's file, which called TVM.

    Empty if there is none.
    """
    for frame in reversed(frames):
        if is_users(frame.filename) and not is_plumbing(frame):
            return function_of(frame)
    return ""


def is_users(file: str) -> bool:
    """True for files of Python that belong neither to TVM nor to the plumbing."""
    return file.endswith(".py") and "/tvm/" not in f"/{file}" and not _OUTSIDE.search(file)
