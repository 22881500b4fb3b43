"""The functions and registrations of operators, which records name before anything is built."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import tvm
from tvm import relax

from .drift import Drift


class _Functions:
    """The functions of a module of TVM by attribute.

    A missing function is replaced by one that raises `Drift` when it is called: everything that
    needs the operator is off, and everything else works.
    """

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name, None)
        if isinstance(found, types.ModuleType):
            found = _Functions(found)
        elif found is None:
            found = _Missing(f"{self._module.__name__}.{name}")
        setattr(self, name, found)
        return found


class _Missing:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise Drift(f"this TVM has no {self._name}")


F = TypeVar("F", bound=Callable[..., Any])


def existing(*functions: F) -> tuple[F, ...]:
    """The functions among these that this TVM has: some of several alternatives may be missing."""
    return tuple(each for each in functions if not isinstance(each, _Missing))


relax_op = _Functions(relax.op)
"""`relax.op` with every operator; an operator that this TVM lacks fails when it is called."""


def registered(name: str) -> Any:
    """The operator that is registered under this name, e.g. "relax.add".

    Raises:
        Drift: no operator has this name.
    """
    try:
        return tvm.ir.Op.get(name)
    except AttributeError as error:
        raise Drift(f"this TVM has no operator {name}") from error


def accepted(function: Callable[..., Any], **options: object) -> dict[str, object]:
    """The options for which the function has parameters in this TVM."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in known}


def attribute(name: str, key: str) -> object | None:
    """The registered attribute of an operator; None if the attribute or the operator is missing."""
    try:
        found: object | None = tvm.ir.Op.get(name).get_attr(key)
    except AttributeError:
        return None
    return found
