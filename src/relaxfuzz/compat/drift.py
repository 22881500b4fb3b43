"""What this TVM lacks: the exception for it, and which other exceptions mean the same."""

from __future__ import annotations

import re
import types

ROOTS = ("tvm", "tvm_ffi")
"""The packages whose names, fields and signatures move."""


PACKAGE = __name__.partition(".")[0]

_NOT_BOUND = re.compile(r"([\w.]+)\(\) (?:got|takes|missing) ")
"""What Python says of a call whose arguments do not fit the parameters."""

_NOT_IN_MODULE = re.compile(r"cannot import name '(\w+)' from ")


class Drift(LookupError):
    """The installed TVM has no such name; the message is one sentence that names it."""


def drift_of(error: BaseException) -> str | None:
    """What the installed TVM lacks, in one sentence; None if the exception is about something else.

    It means a lack if relaxfuzz's own code asked TVM for a name, a field or a parameter. The same
    exception from within TVM is a bug of TVM.
    """
    if isinstance(error, Drift):
        return str(error)
    asker = _innermost(error)
    if asker is None or not str(asker.f_globals.get("__name__")).startswith(PACKAGE):
        return None
    if isinstance(error, AttributeError):
        owner = _owner(error.obj)
        return owner and f"this TVM has no {owner}.{error.name}"
    if isinstance(error, ImportError) and _is_of_tvm(error.name):
        wanted = _NOT_IN_MODULE.match(str(error))  # Python 3.12 has `error.name_from`
        return f"this TVM has no {error.name}" + (f".{wanted[1]}" if wanted else "")
    if isinstance(error, TypeError) and (call := _NOT_BOUND.match(str(error))) is not None:
        own = getattr(asker.f_globals.get(call[1]), "__module__", "").startswith(PACKAGE)
        return None if own else f"this TVM's {call[1]} takes other parameters: {error}"
    return None


def _innermost(error: BaseException) -> types.FrameType | None:
    """The frame that raised the exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else trace.tb_frame


def _is_of_tvm(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] in ROOTS


def _owner(value: object) -> str | None:
    """The module or class of TVM whose attribute it is; None if it is not TVM's."""
    if isinstance(value, types.ModuleType):
        return value.__name__ if _is_of_tvm(value.__name__) else None
    cls = value if isinstance(value, type) else type(value)
    return f"{cls.__module__}.{cls.__qualname__}" if _is_of_tvm(cls.__module__) else None
