"""The functions and registrations of operators, which records name before anything is built."""

from __future__ import annotations

import types
from typing import Any, NoReturn

import tvm
from tvm import relax

from .drift import Drift


class _Functions:
    """The functions of a module of TVM by attribute.

    Where there is none, a function that raises `Drift` when it is called: what needs the operator
    is off, everything else works.
    """

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name, None)
        if isinstance(found, types.ModuleType):
            found = _Functions(found)
        elif found is None:
            found = _missing(f"{self._module.__name__}.{name}")
        setattr(self, name, found)
        return found


def _missing(name: str) -> Any:
    def missing(*args: object, **kwargs: object) -> NoReturn:
        raise Drift(f"this TVM has no {name}")

    return missing


relax_op = _Functions(relax.op)
"""`relax.op`, in which every operator is found; one that this TVM lacks fails when it is called."""


def registered(name: str) -> Any:
    """The operator that is registered under this name, e.g. "relax.add".

    Raises:
        Drift: there is none.
    """
    try:
        return tvm.ir.Op.get(name)
    except AttributeError as error:
        raise Drift(f"this TVM has no operator {name}") from error
