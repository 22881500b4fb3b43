"""Compiled PrimFuncs; each distinct one is compiled once on a machine.

Compiling is most of the cost of a build, and modules share most of their PrimFuncs: a pass leaves
nearly all of them unchanged, and small shapes recur. A PrimFunc is identified by its structural
hash (64 bits, the same in all processes) without its name. It is compiled under a name made of the
hash and kept on disk (`kept`); the VM finds it as a global function.

Many PrimFuncs are compiled and linked at once, since a link costs as much as two PrimFuncs.

Optimizing a PrimFunc takes three times as long as compiling it without, and its loops run four
times as fast. Few PrimFuncs of a model do most of its arithmetic, and only these are optimized.
Those of DenseNet-121 are compiled and run once in 11 s; it takes 25 s if all of them are optimized,
16 s if none is.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm_ffi import structural_hash  # imported before a user's pass can patch it

from ...compat import ir
from ..inspect import attr, global_vars
from . import kept
from .linker import linker

OPTIMIZING = tvm.target.Target({"kind": "llvm", "opt-level": 1})
"""The target of optimized PrimFuncs. Level 2 takes half as long again; its code is no faster."""

MANY = 5_000_000
"""Number of iterations of a PrimFunc above which one run takes longer than optimizing it."""

USUAL = 4
"""The assumed extent of a loop that depends on symbolic sizes, which are drawn small."""

COMPILED = "__vmtir__"
"""Prefix of the PrimFuncs that exec mode "compiled" makes of Relax functions. They call others by
symbols, which must be in the same library."""

_TEMPORARY = tempfile.gettempdir()
"""The folder in which libraries are linked. A child has its own, which a pass may remove."""


def iterations_of(func: tirx.PrimFunc) -> int:
    """The approximate number of iterations of the innermost loops of a PrimFunc."""
    return _iterations(func.body)


def _iterations(stmt: Any) -> int:
    if isinstance(stmt, ir.For):
        extent = stmt.extent.value if isinstance(stmt.extent, tirx.IntImm) else USUAL
        return max(1, int(extent)) * _iterations(stmt.body)
    if isinstance(stmt, ir.SeqStmt):
        return sum(map(_iterations, stmt.seq))
    if isinstance(stmt, ir.SBlockRealize):
        return _iterations(stmt.block.body)
    if isinstance(stmt, ir.IfThenElse):
        return _iterations(stmt.then_case)
    return _iterations(stmt.body) if isinstance(stmt, ir.AttrStmt) else 1


def provide(
    mod: tvm.IRModule, target: tvm.target.Target, *, optimize: bool = False
) -> list[tvm.runtime.Module]:
    """Make the module's PrimFuncs callable in this process, as global functions by their names.

    The process never forgets them, so it must be a fork that ends soon.

    Args:
        optimize: optimize PrimFuncs with many iterations.

    Returns:
        Libraries with the code of Relax functions (in exec mode "compiled"), which the VM expects
        among the imports of its executable.

    Raises:
        Whatever `tirx.build` raises.
    """
    prims = {gvar: func for gvar, func in mod.functions_items() if isinstance(func, tirx.PrimFunc)}
    alone, others = _sorted(prims)
    slow = {gvar for gvar, func in prims.items() if optimize and iterations_of(func) > MANY}
    _provide_alone({gvar: func for gvar, func in alone.items() if gvar in slow}, OPTIMIZING)
    _provide_alone({gvar: func for gvar, func in alone.items() if gvar not in slow}, target)
    if not others:
        return []
    library = _load(others, target if slow.isdisjoint(others) else OPTIMIZING)
    for gvar, func in others.items():
        _register(gvar, func, library[_symbol(gvar, func)])
    return [library]


def _provide_alone(functions: Functions, target: tvm.target.Target) -> None:
    """Provide PrimFuncs that do not call each other."""
    keys = {gvar: _key(func, target) for gvar, func in functions.items()}
    libraries = _libraries({keys[gvar]: func for gvar, func in functions.items()}, target)
    for gvar, func in functions.items():
        key = keys[gvar]
        again = functools.partial(_alone, gvar, func, target)
        _register(gvar, func, _with_own_name(libraries[key][key], again))


Functions = dict[tvm.ir.GlobalVar, tirx.PrimFunc]

Function = Callable[..., Any]


def _with_own_name(function: Function, again: Callable[[], Function]) -> Function:
    """The function, whose exceptions come from the same code under its own name: messages have it.

    Args:
        again: compiles the function under its own name.
    """

    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception:
            return again()(*args)

    return call


def _sorted(prims: Functions) -> tuple[Functions, Functions]:
    """PrimFuncs that stand alone, and those that must be compiled together unchanged."""
    if linker() is None or any(gvar.name_hint.startswith(COMPILED) for gvar in prims):
        return {}, prims
    uses = {gvar: {str(g.name_hint) for g in global_vars(func)} for gvar, func in prims.items()}
    called = set().union(*uses.values())
    bound = {gvar for gvar in prims if uses[gvar] or gvar.name_hint in called}
    return (
        {gvar: func for gvar, func in prims.items() if gvar not in bound},
        {gvar: func for gvar, func in prims.items() if gvar in bound},
    )


def _load(functions: Functions, target: tvm.target.Target) -> tvm.runtime.Module:
    if linker() is None:
        return tvm.tirx.build(tvm.IRModule(functions), target)
    path = _compile(functions, target)
    try:
        return tvm.runtime.load_module(path)
    finally:
        os.unlink(path)


def _libraries(
    functions: Mapping[str, tirx.PrimFunc], target: tvm.target.Target
) -> dict[str, tvm.runtime.Module]:
    """The library of each function, by key; those that are not kept are compiled into one."""
    libraries = kept.find(functions)
    missing = {key: func for key, func in functions.items() if key not in libraries}
    if missing:
        path = _compile(_named(missing), target)
        try:
            library = tvm.runtime.load_module(path)
            kept.keep(path, missing)
        finally:
            os.unlink(path)
        libraries.update(dict.fromkeys(missing, library))
    return libraries


def _named(prims: Mapping[str, tirx.PrimFunc]) -> Functions:
    return {
        tvm.ir.GlobalVar(name): func.with_attr("global_symbol", name)
        for name, func in prims.items()
    }


def _alone(gvar: tvm.ir.GlobalVar, func: tirx.PrimFunc, target: tvm.target.Target) -> Function:
    """One function under its own name, which the checks of its arguments mention."""
    symbol = _symbol(gvar, func)
    function: Function = _load({gvar: func.with_attr("global_symbol", symbol)}, target)[symbol]
    return function


def _register(gvar: tvm.ir.GlobalVar, func: tirx.PrimFunc, compiled: Function) -> None:
    """Register a function under the names by which the VM's instructions call it."""
    for name in {str(gvar.name_hint), _symbol(gvar, func)}:
        tvm_ffi.register_global_func(name, compiled, override=True)


def _symbol(gvar: tvm.ir.GlobalVar, func: tirx.PrimFunc) -> str:
    return str(attr(func, "global_symbol") or gvar.name_hint)


def _key(func: tirx.PrimFunc, target: tvm.target.Target) -> str:
    number = structural_hash(func.without_attr("global_symbol"))
    return f"k{int(number) % 2**64:016x}o{target.attrs.get('opt-level')}"


def _compile(functions: Functions, target: tvm.target.Target) -> str:
    """The path of a shared library of the functions."""
    built = tvm.tirx.build(tvm.IRModule(functions), target)
    handle, path = tempfile.mkstemp(".so", dir=_TEMPORARY)
    os.close(handle)
    built.export_library(path, fcompile=linker())
    return path
