"""Values of `T.undef()` in PrimFuncs: the variables and buffers that hold only such values."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ..inspect import nodes, prim_funcs
from ..passcall import PassCall
from ..tensorir.statements import is_undefined


def no_undefined_store(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring of RemoveStoreUndef: "Remove stores of undefined values from the Stmt"."""
    old = {str(gvar.name_hint): func for gvar, func in prim_funcs(before)}
    for gvar, func in prim_funcs(after):
        given = old.get(str(gvar.name_hint))
        held = {} if given is None else dict(_undefined(given))
        left = _undefined(func, among=set(held.values()))
        if any(_is_undefined(store.value, left) for store in nodes(func, ir.BufferStore)):
            return "a store of an undefined value is left"
    return None


def _undefined(func: tirx.PrimFunc, among: Set[str] | None = None) -> dict[int, str]:
    """Variables (handles) and own buffers (names) of the function that only hold undefined values.

    Args:
        among: names of the buffers to consider; None: those that are stored to.
    """
    stores = _stores(func)
    own = {
        handle: name
        for handle, name in _own_buffers(func).items()
        if (name in among if among is not None else bool(stores.get(handle)))
    }
    bound = nodes(func, ir.Bind)
    found: dict[int, str] = {}
    while True:
        new = {
            **{
                bind.var.__chandle__(): str(bind.var.name)
                for bind in bound
                if _is_undefined(bind.value, found)
            },
            **{
                handle: name
                for handle, name in own.items()
                if all(_is_undefined(each.value, found) for each in stores.get(handle, ()))
            },
        }
        if new.keys() == found.keys():
            return found
        found = new


def _is_undefined(expr: Any, held: Iterable[int]) -> bool:
    """True if the whole value is undefined, so nothing is selected from it or computed with it."""
    if isinstance(expr, ir.Cast | ir.Broadcast):
        return _is_undefined(expr.value, held)
    if isinstance(expr, ir.TensorLoad):
        return ir.tensor_of(expr).__chandle__() in held
    return is_undefined(expr) or (isinstance(expr, tirx.Var) and expr.__chandle__() in held)


def _stores(func: tirx.PrimFunc) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for store in nodes(func, ir.BufferStore):
        found.setdefault(store.buffer.__chandle__(), []).append(store)
    return found


def _own_buffers(func: tirx.PrimFunc) -> dict[int, str]:
    """The buffers that the function allocates and that only loads and stores access."""
    buffers = [alloc.buffer for alloc in nodes(func, ir.AllocBuffer)]
    for block in nodes(func, ir.SBlock):
        buffers += block.alloc_buffers
    elsewhere = _passed_on(func)
    own = {each.__chandle__(): str(each.name) for each in buffers}
    return {handle: name for handle, name in own.items() if handle not in elsewhere}


def _passed_on(func: tirx.PrimFunc) -> set[int]:
    """Buffers with another name, and those whose address is passed to a call."""
    found: set[int] = set()
    for block in nodes(func, ir.SBlock):
        found.update(ir.tensor_of(each.source).__chandle__() for each in block.match_buffers)
    for declared in nodes(func, ir.DeclBuffer):
        found.update(var.__chandle__() for var in nodes(declared.data, tirx.Var))
    for call in nodes(func, tvm.ir.Call):
        found.update(_handle(arg) for arg in call.args)
    return found


def _handle(arg: Any) -> int:
    """The handle of a buffer that is itself an argument, or has an element that is one."""
    return int((ir.tensor_of(arg) if isinstance(arg, ir.TensorLoad) else arg).__chandle__())
