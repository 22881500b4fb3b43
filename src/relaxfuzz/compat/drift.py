"""Features that this TVM lacks: an exception, and the recognition of others with that meaning."""

from __future__ import annotations

import ast
import linecache
import re
import traceback
import types

ROOTS = ("tvm", "tvm_ffi")
"""The packages whose names, fields and signatures move."""


PACKAGE = __name__.partition(".")[0]

_NOT_BOUND = re.compile(r"([\w.]+)\(\) (?:got|takes|missing) ")
"""Python's message for a call whose arguments do not fit the parameters."""

_NOT_IN_MODULE = re.compile(r"cannot import name '(\w+)' from ")


class Drift(LookupError):
    """The installed TVM lacks a name; the message is one sentence with the name."""


def drift_of(error: BaseException) -> str | None:
    """The missing feature of TVM, in one sentence; None if the exception is about something else.

    A feature is missing if relaxfuzz's own code asked TVM for a name, a field or a parameter. The
    same exception from within TVM is a bug of TVM.
    """
    if isinstance(error, Drift):
        return str(error)
    trace = _innermost(error)
    if trace is None or not _is_ours(str(trace.tb_frame.f_globals.get("__name__"))):
        return None
    if isinstance(error, AttributeError):
        owner = _owner(error.obj)
        return owner and f"this TVM has no {owner}.{error.name}"
    if isinstance(error, ImportError) and _is_of_tvm(error.name):
        wanted = _NOT_IN_MODULE.match(str(error))  # Python 3.12 has `error.name_from`
        return f"this TVM has no {error.name}" + (f".{wanted[1]}" if wanted else "")
    if isinstance(error, TypeError) and (call := _NOT_BOUND.match(str(error))) is not None:
        called = _called(trace)
        if called is None:  # a text without a file, such as the spelling of a pass
            called = trace.tb_frame.f_globals.get(call[1].partition(".")[0])
        if _is_of_tvm(getattr(called, "__module__", None)):
            return f"this TVM's {call[1]} takes other parameters: {error}"
    return None


def cannot_work(error: BaseException) -> str | None:
    """`drift_of` for features without which nothing works."""
    lacking = drift_of(error)
    return None if lacking is None else f"relaxfuzz cannot work with this TVM: {lacking}"


def _innermost(error: BaseException) -> types.TracebackType | None:
    """The end of the traceback, where the exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _called(trace: types.TracebackType) -> object:
    """The object that a line calls by name or attribute; None if that cannot be determined."""
    at = traceback.extract_tb(trace)[-1]
    if at.lineno is None or at.end_lineno is None or at.colno is None:
        return None
    lines = [linecache.getline(at.filename, n) for n in range(at.lineno, at.end_lineno + 1)]
    lines[-1] = lines[-1].encode()[: at.end_colno].decode()
    lines[0] = lines[0].encode()[at.colno :].decode()
    try:
        call = ast.parse(f"({''.join(lines)})", mode="eval").body
    except SyntaxError:
        return None
    function = call.func if isinstance(call, ast.Call) else call
    if not all(isinstance(each, _CHAIN) for each in ast.walk(function)):
        return None
    expression = compile(ast.Expression(function), at.filename, "eval")
    found: object = eval(expression, trace.tb_frame.f_globals, trace.tb_frame.f_locals)
    return found


_CHAIN = (ast.Name, ast.Attribute, ast.expr_context)


def _is_ours(module: str) -> bool:
    """True for a module of relaxfuzz, except the faulty passes that its self-test tests."""
    return module.startswith(PACKAGE) and module != f"{PACKAGE}.fuzz.doctor.faults"


def _is_of_tvm(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] in ROOTS


def _owner(value: object) -> str | None:
    """The module or class of TVM whose attribute it is; None if it is not TVM's."""
    if isinstance(value, types.ModuleType):
        return value.__name__ if _is_of_tvm(value.__name__) else None
    cls = value if isinstance(value, type) else type(value)
    return f"{cls.__module__}.{cls.__qualname__}" if _is_of_tvm(cls.__module__) else None
