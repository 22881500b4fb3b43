"""The place from which another process can import a pass object of this process.

A pass rarely has the name of its variable: `name=` of TVM's decorators often differs. So loaded
modules are searched for the object itself, and for its name only if the object is not there.
Nothing is called or imported.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import tvm

_OTHERS = (sys.stdlib_module_names - {"__main__"}) | {"tvm", "tvm_ffi", "relaxfuzz"}
"""Packages that define no pass of the user's."""


def home_of(made: object) -> str | None:
    """The spelling of a pass object: `module:NAME` or `script.py:NAME`; None if it has none.

    The name is that of the object, or of its class, which must then need no arguments.
    """
    kind = type(made)
    passes, _ = _defined()
    for each in passes:
        if _is_same(each.value, made):
            return each.spelling
    for each in passes:
        if each.value is kind and _needs_nothing(kind):
            return each.spelling
    return None


def home_of_name(name: str) -> str | None:
    """The spelling of the pass that probably has this name; the guess must be verified.

    It is a pass or a class of passes with this name or in a variable of this name; else a function
    of this name; else a function without parameters whose code has the name as a literal.
    """
    passes, functions = _defined()
    for each in passes:
        if name in (each.name, _name_of(each.value)) and _is_made(each.value):
            return each.spelling
    for each in functions:
        if each.name == name:
            return each.spelling
    for each in functions:
        if _has(each.value.__code__, name) and _needs_nothing(each.value):
            return each.spelling
    return None


@dataclass(frozen=True, slots=True)
class _Defined:
    """A pass, a class of passes, or a function that a module defines."""

    place: str
    """The module, or the path of the script."""
    name: str
    value: Any

    @property
    def spelling(self) -> str:
        return f"{self.place}:{self.name}"


def _defined() -> tuple[Sequence[_Defined], Sequence[_Defined]]:
    """The passes and classes of passes, and the functions, of the loaded modules."""
    return _defined_at(sum(len(names) for _, names in _modules()))


@functools.lru_cache(maxsize=1)
def _defined_at(size: int) -> tuple[Sequence[_Defined], Sequence[_Defined]]:
    """The same, kept as long as the modules define this number of names."""
    passes, functions = list[_Defined](), list[_Defined]()
    for module, names in _modules():
        place: str | None = module
        if module == "__main__":
            place = _script()
        for name, value in list(names.items()):
            if place is None or not _may_be_pass(value):
                continue
            if not _is_pass(value) and value.__module__ != module:  # it is imported
                continue
            found = functions if type(value) is FunctionType else passes
            found.append(_Defined(place, name, value))
    return passes, functions


def _modules() -> Iterator[tuple[str, dict[str, Any]]]:
    """The names in each module that may be the user's, by the name of the module."""
    for module, loaded in list(sys.modules.items()):
        if module.partition(".")[0] not in _OTHERS:
            yield module, getattr(loaded, "__dict__", {})


def _script() -> str | None:
    """The path of the running script, if others can import it."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return str(Path(script).resolve()) if script and _is_guarded(Path(script)) else None


def _may_be_pass(value: object) -> bool:
    kind = type(value)  # `isinstance` may run code of the object
    if issubclass(kind, type):
        return issubclass(value, tvm.transform.Pass)  # type: ignore[arg-type]  # it is a class
    return kind is FunctionType or _is_pass(value)


def _is_pass(value: object) -> bool:
    kinds = (tvm.transform.Pass, tvm.relax.dpl.PatternMatchingRewriter)
    return issubclass(type(value), kinds)


def _is_same(value: Any, made: object) -> bool:
    if value is made:
        return True
    kinds = (type(value), type(made))
    return all(issubclass(kind, tvm.runtime.Object) for kind in kinds) and bool(value.same_as(made))


def _needs_nothing(function: Any) -> bool:
    """Return whether a function or a class can be called without arguments."""
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True


def _is_made(value: Any) -> bool:
    """True for a pass, and for a class that makes one."""
    return not isinstance(value, type) or _needs_nothing(value)


def _name_of(value: Any) -> str | None:
    """The name of a pass, or the one that TVM's decorator of a class gives to its passes."""
    if isinstance(value, tvm.transform.Pass):
        return str(value.info.name)
    for cell in getattr(getattr(value, "__init__", None), "__closure__", None) or ():
        if isinstance(cell.cell_contents, tvm.transform.PassInfo):
            return str(cell.cell_contents.name)
    return None


def _has(code: CodeType, literal: str) -> bool:
    return any(
        _has(each, literal) if isinstance(each, CodeType) else each == literal
        for each in code.co_consts
    )


def _is_guarded(file: Path) -> bool:
    """Return whether a script has a `__main__` guard, so that importing it runs nothing."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    return any(
        isinstance(node, ast.If) and ast.unparse(node.test).startswith("__name__ ==")
        for node in tree.body
    )
