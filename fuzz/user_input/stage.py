"""The stages of a user's module, determined from its functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ...generators.families import family_of
from ...generators.stages import Stage
from ...oracles.inspect import (
    attr,
    is_bound_to_threads,
    nodes,
    prim_funcs,
    relax_functions,
    stores_in_blocks,
)

CALLED_BY_C = 1
"""The `calling_conv` of a function after MakePackedAPI: include/tvm/ir/function.h, kCPackedFunc."""


@dataclass(frozen=True, slots=True)
class StagedPart:
    """The functions of a module that the passes of these stages are meant for."""

    mod: tvm.IRModule
    stages: tuple[Stage, ...]


def parts_of(mod: tvm.IRModule) -> tuple[StagedPart, ...]:
    """Split the module: with Relax functions it is at the stage "raw"; its PrimFuncs are at their
    own stages.

    PrimFuncs beside Relax functions are in the form that `relax.build` passes to `tirx.build`.
    """
    if not any(True for _ in prim_funcs(mod)):
        return (StagedPart(mod, (Stage.RAW,)),)
    if not any(True for _ in relax_functions(mod)):
        return (StagedPart(mod, _stages(mod)),)
    kernels = without_relax(mod)
    return (StagedPart(mod, (Stage.RAW,)), StagedPart(kernels, _stages(kernels)))


def without_relax(mod: tvm.IRModule) -> tvm.IRModule:
    """The PrimFuncs, with the global symbols that `relax.build` gives them."""
    functions = {gvar: _public(gvar, func) for gvar, func in prim_funcs(mod)}
    return tvm.IRModule(functions, attrs=mod.attrs)


def _public(gvar: tvm.ir.GlobalVar, func: tirx.PrimFunc) -> tirx.PrimFunc:
    name = attr(func, "global_symbol") or gvar.name_hint
    return func.with_attr("global_symbol", name)


def _stages(mod: tvm.IRModule) -> tuple[Stage, ...]:
    """The earliest stage of each family to which functions of the module belong.

    Operators without a target may also be for a device.
    """
    found: dict[str, list[Stage]] = {}
    for _, func in prim_funcs(mod):
        stage = _stage(func)
        found.setdefault(family_of(stage).name, []).append(stage)
    if all(attr(func, "target") is None and _is_operator(func) for _, func in prim_funcs(mod)):
        found.setdefault(family_of(Stage.KERNELS).name, [Stage.KERNELS])
    order = list(Stage)
    return tuple(min(stages, key=order.index) for stages in found.values())


def _stage(func: tirx.PrimFunc) -> Stage:
    """The first stage whose functions look like this one."""
    seen = nodes(func, ir.SBlock, ir.AttrStmt, ir.TensorLoad, ir.BufferStore)
    on_device = _is_kernel(func, seen)
    step = next(step for looks, step in _STEPS if looks(func, seen))
    return _ON_DEVICE[step] if on_device else step


def _is_operator(func: tirx.PrimFunc) -> bool:
    """Return whether it does all its work in blocks, which schedules arrange."""
    in_blocks = stores_in_blocks(func)
    return bool(in_blocks) and len(in_blocks) == len(nodes(func, ir.BufferStore))


def _is_kernel(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    """Return whether it is bound to the target of a device, or to its threads."""
    target = attr(func, "target")
    on_gpu = bool(target is not None and "gpu" in target.keys)
    return on_gpu or _has_threads(func, seen)


def _has_threads(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    keys = (str(stmt.attr_key) for stmt in seen if isinstance(stmt, ir.AttrStmt))
    return bool(is_bound_to_threads(func) or "thread_extent" in keys)


def _is_packed(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    return bool(attr(func, "calling_conv") == CALLED_BY_C)


def _is_split(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    """Return whether SplitHostDevice has run: a device function has its own calling convention."""
    return attr(func, "calling_conv") is not None


def _is_scheduled(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    return _has_blocks(func, seen) and _has_threads(func, seen)


def _is_bound(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    return _has_blocks(func, seen) and attr(func, "target") is not None


def _has_blocks(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    return any(isinstance(node, ir.SBlock) for node in seen)


def _is_opaque(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    """Return whether there are blocks below the root, and all of them are opaque."""
    root = getattr(func.body, "block", None)
    blocks = [node for node in seen if isinstance(node, ir.SBlock) and not node.same_as(root)]
    return bool(blocks) and not any(block.iter_vars or block.init for block in blocks)


def _is_entry(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    return bool(attr(func, "tirx.is_entry_func"))


def _is_flat(func: tirx.PrimFunc, seen: list[Any]) -> bool:
    accesses = (node for node in seen if isinstance(node, (ir.TensorLoad, ir.BufferStore)))
    return all(len(access.indices) == 1 for access in accesses)


_Looks = Callable[[tirx.PrimFunc, list[Any]], bool]

_STEPS: tuple[tuple[_Looks, Stage], ...] = (
    (_is_packed, Stage.PACKED),
    (_is_split, Stage.SPLIT),
    (_is_opaque, Stage.OPAQUE),
    (_is_scheduled, Stage.INIT_LOWERED),
    (_is_bound, Stage.BOUND),
    (_has_blocks, Stage.TENSORIR),
    (_is_entry, Stage.ANNOTATED_ENTRY),
    (_is_flat, Stage.FLATTENED),
    (lambda func, seen: True, Stage.BLOCKS_LOWERED),
)
"""Signs of a function's progress; the first that holds counts."""

_ON_DEVICE: Mapping[Stage, Stage] = {
    Stage.TENSORIR: Stage.KERNELS,
    Stage.BOUND: Stage.KERNELS,
    Stage.INIT_LOWERED: Stage.SCHEDULED,
    Stage.OPAQUE: Stage.THREADS_LIFTED,
    Stage.BLOCKS_LOWERED: Stage.DEVICE_BLOCKS_LOWERED,
    Stage.FLATTENED: Stage.DEVICE_FLATTENED,
    Stage.ANNOTATED_ENTRY: Stage.DEVICE_ENTRY,
    Stage.SPLIT: Stage.DEVICE_SPLIT,
    Stage.PACKED: Stage.PACKED,
}
"""The stages of kernels with the same progress."""
