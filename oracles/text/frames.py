"""The frames of an exception: which of them has to do with the cause."""

from __future__ import annotations

import posixpath
import re
import traceback

from .paths import as_there

Frames = list[traceback.FrameSummary]

_PLUMBING = re.compile(
    r"<unknown>|/compat/\w+\.py$|tvm_ffi/|3rdparty/|/ffi/|<frozen|/contextlib\.py$"
)
"""Frames that every exception passes through, whatever its cause."""

_GENERIC = re.compile(
    r"functor\.(?:h|cc)$|/src/ir/module\.cc$|/relax/type\.h$|/runtime/|/support/"
    # Arithmetic: what is computed, and so who has it wrong, is up to the caller.
    r"|/src/ir/prim/|/src/te/|/tvm/te/|/tvm/ir/|/tvm/tirx/op\.py$|/topi/(?:broadcast|math)\.py$"
)
"""Frames that raise on behalf of many callers; only where nothing else is known."""


def frames_of(error: BaseException) -> Frames:
    """The frames that the exception has passed, C++ ones included, the innermost last."""
    frames = list(traceback.extract_tb(error.__traceback__))
    for frame in frames:
        frame.filename = as_there(frame.filename)
    return frames


def origin(frames: Frames) -> tuple[str, int, str]:
    """File, line and function of the innermost frame that has to do with the cause, or nothing."""
    known = [
        frame
        for frame in _inside(frames)
        if not _PLUMBING.search(frame.filename) and not frame.filename.endswith("/ir/transform.py")
    ]
    specific = [frame for frame in known if not _GENERIC.search(frame.filename)] or known
    if not specific:
        return "", 0, ""
    frame = specific[-1]
    return _shorten(posixpath.normpath(frame.filename)), frame.lineno or 0, frame.name


def _inside(frames: Frames) -> Frames:
    """The frames of the pass."""
    entry = [i for i, frame in enumerate(frames) if frame.filename.endswith("/ir/transform.py")]
    return frames[entry[0] + 1 :] if entry else frames


def caller(frames: Frames) -> str:
    """The innermost line of Python that is not of TVM, as `origin` would give it."""
    for frame in reversed(_inside(frames)):
        name = frame.filename
        if name.endswith(".py") and "/tvm/" not in f"/{name}" and not _PLUMBING.search(name):
            return f"{_shorten(posixpath.normpath(name))}:{frame.lineno}"
    return ""


def _shorten(file: str) -> str:
    """The path below the sources' root, which differs from machine to machine."""
    for root in ("/src/", "/include/", "/site-packages/", "/python/"):
        if root in file:
            return file.rsplit(root, 1)[1]
    return file.rsplit("/", 1)[-1]


_ANALYZER = re.compile(r"\btvm::(?:arith|sym)::(?!\w*WithAnalyzer)")
"""A function of TVM's arithmetic; visitors that passes derive from only hold an Analyzer."""


def analysis(frames: Frames) -> str:
    """What TVM's arithmetic was doing when it raised: the innermost of its functions, and those
    that this one has called; empty where it was not at work.
    """
    own = [i for i, frame in enumerate(frames) if _ANALYZER.search(frame.name)]
    return " > ".join(f.name.partition("(")[0] for f in frames[own[-1] :]) if own else ""


_OF_OPERATORS = re.compile(
    r"/tvm/(?:relax/transform/legalize_ops/(?!common\.py|unary\.py|binary\.py)"
    r"|topi/(?!broadcast\.(?:py|h)|detail/|math\.py|utils\.py|tag\.py))"
)
"""Python files that belong to some operators only. What all operators share (broadcasting, the
builder) raises for all of them."""


def legalizes(frames: Frames) -> bool:
    """The legalization of an operator was running."""
    return any("legalize_ops/" in f.filename or f.name == "call_te" for f in frames)


def legalization(frames: Frames) -> str:
    """The innermost function of an operator's own, where a legalization has called it."""
    own = [frame for frame in frames if _OF_OPERATORS.search(frame.filename)]
    if not own or not any("legalize_ops/" in frame.filename for frame in frames):
        return ""
    return f"{own[-1].filename.rsplit('/tvm/', 1)[-1]}:{own[-1].name}"
