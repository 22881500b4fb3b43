"""Reductions over the buffers and parameters of PrimFuncs, and over their call sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...compat import ir
from ...compat.structural import structural_map
from ...generators.rewrite.nodes import rebuilt, references, with_functions
from . import kernels_tree as tree
from .kernels import kernels, with_kernels
from .kernels_bodies import outputs
from .reduction import Edit, grouped, runs


def drop_buffers(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop buffers that a PrimFunc allocates, and all accesses to them."""
    own = [(name, buffer) for name, func in kernels(mod).items() for buffer in allocated(func)]
    for run in runs(own):
        yield partial(_without_buffers, mod, run)


def plain_buffers(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop strides, offsets and alignments of buffers, then put the buffers in global memory."""
    buffers = [(name, buffer) for name, func in kernels(mod).items() for buffer in _buffers(func)]
    for scope in (None, "global"):
        peculiar = [
            (name, buffer)
            for name, buffer in buffers
            if not tvm_ffi.structural_equal(buffer.ty, _plain(buffer, scope).ty)
        ]
        for run in runs(peculiar):
            yield partial(_with_buffers, mod, run, partial(_plain, scope=scope))


def shrink_buffers(mod: tvm.IRModule) -> Iterator[Edit]:
    """Shrink buffers to one element if no caller knows them."""
    called = set[str]().union(*(references(func) for _, func in mod.functions_items()))
    inner = [
        (name, buffer)
        for name, func in kernels(mod).items()
        for buffer in (allocated(func) if name in called else _buffers(func))
        if any(not isinstance(dim, tirx.IntImm) or dim.value != 1 for dim in buffer.ty.shape)
    ]
    for run in runs(inner):
        yield partial(_with_buffers, mod, run, _single)


def allocated(func: tirx.PrimFunc) -> list[Any]:
    """The buffers that are declared in the body, in order."""
    found: list[Any] = []
    for place in tree.places(func.body):
        if isinstance(place.node, ir.AllocBuffer | ir.DeclBuffer):
            found.append(place.node.buffer)
        elif isinstance(place.node, ir.SBlock):
            found += list(place.node.alloc_buffers)
            found += [match.buffer for match in place.node.match_buffers]
    return found


def without_buffers(func: tirx.PrimFunc, gone: set[int]) -> Any:
    """The body without accesses to these buffers, given by hash; zeros replace their loads."""
    changes: dict[int, tree.Change] = {}
    for place in tree.places(func.body):
        node = place.node
        if isinstance(node, ir.BufferStore | ir.AllocBuffer | ir.DeclBuffer):
            if hash(node.buffer) in gone:
                changes[place.number] = _dropped
        elif isinstance(node, ir.TensorLoad) and hash(ir.tensor_of(node)) in gone:
            changes[place.number] = tree.zero
        elif isinstance(node, ir.SBlock):
            changes[place.number] = partial(_block_without, gone=gone)
        elif isinstance(node, ir.Evaluate) and tree.variables(node.value) & gone:
            changes[place.number] = _dropped
    return tree.changed(func.body, changes)


def _dropped(node: Any) -> None:
    return None


def _block_without(block: Any, gone: set[int]) -> Any:
    fields = {
        "reads": [r for r in block.reads if not tree.variables(r) & gone],
        "writes": [r for r in block.writes if not tree.variables(r) & gone],
        "alloc_buffers": [b for b in block.alloc_buffers if hash(b) not in gone],
        "match_buffers": [m for m in block.match_buffers if hash(m.buffer) not in gone],
    }
    same = all(len(fields[name]) == len(getattr(block, name)) for name in fields)
    return block if same else tree.with_block(block, **fields)


def _without_buffers(mod: tvm.IRModule, run: Sequence[tuple[str, Any]]) -> tvm.IRModule:
    gone = grouped((name, hash(buffer)) for name, buffer in run)
    old = kernels(mod)
    return with_kernels(
        mod,
        {
            name: rebuilt(old[name], without_buffers(old[name], hashes))
            for name, hashes in gone.items()
        },
    )


# Buffers of other types


def _buffers(func: tirx.PrimFunc) -> list[Any]:
    params = [param for param in func.params if isinstance(param.ty, tirx.BufferType)]
    return [*params, *allocated(func)]


def _plain(buffer: Any, scope: str | None, shape: Sequence[Any] | None = None) -> Any:
    """A buffer of the same name in the default layout."""
    ty = buffer.ty
    return tirx.decl_buffer(
        list(ty.shape) if shape is None else list(shape),
        ty.dtype.dtype,
        str(buffer.name),
        scope=str(ty.storage_scope) if scope is None else scope,
        layout=None if ty.layout is None else "default",
    )


def _single(buffer: Any) -> Any:
    return _plain(buffer, None, [tirx.const(1, tree.dtype(dim)) for dim in buffer.ty.shape])


def _with_buffers(
    mod: tvm.IRModule, run: Sequence[tuple[str, Any]], change: Callable[[Any], Any]
) -> tvm.IRModule:
    new: dict[str, dict[int, Any]] = {}
    for name, buffer in run:
        new.setdefault(name, {})[hash(buffer)] = change(buffer)
    old = kernels(mod)
    mapped = {name: tree.substituted(old[name], mapping) for name, mapping in new.items()}
    # Built by the constructor, which derives the type.
    return with_kernels(mod, {name: rebuilt(func) for name, func in mapped.items()})


def drop_kernel_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop parameters that a PrimFunc does not write to; zeros replace their loads."""
    calls = _calls(mod)
    found = [
        (name, at)
        for name, func in kernels(mod).items()
        if name in calls
        for at in _inputs(func, calls[name])
    ]
    for run in runs(found):
        yield partial(_without_params, mod, run)


# Calls of PrimFuncs


def _is_call_tir(call: Any) -> bool:
    return isinstance(call.op, tvm.ir.Op) and str(call.op.name) == "relax.call_tir"


def _calls(mod: tvm.IRModule) -> dict[str, list[Any]]:
    """All calls of each PrimFunc, except those with other references to them."""
    calls: dict[str, list[Any]] = {name: [] for name in kernels(mod)}
    uses: Counter[str] = Counter()

    def note(call: Any) -> None:
        name = _callee(call)
        if name in calls:
            calls[name].append(call)

    def count(gvar: Any) -> None:
        uses[str(gvar.name_hint)] += 1

    for _, func in mod.functions_items():
        if isinstance(func, relax.Function | tirx.PrimFunc):
            tvm_ffi.structural_walk(func, [(tvm.ir.GlobalVar, count), (tvm.ir.Call, note)])
    return {name: found for name, found in calls.items() if len(found) == uses[name]}


def _callee(call: Any) -> str | None:
    if isinstance(call.op, tvm.ir.GlobalVar):
        return str(call.op.name_hint)
    if _is_call_tir(call) and isinstance(call.args[0], tvm.ir.GlobalVar):
        return str(call.args[0].name_hint) if isinstance(call.args[1], relax.Tuple) else None
    return None


def _inputs(func: tirx.PrimFunc, calls: Sequence[Any]) -> list[int]:
    """The parameters that every call passes and the PrimFunc only reads."""
    written = {hash(buffer) for buffer in outputs(func)} if calls else set()
    count = min((len(_arguments(call)) for call in calls), default=len(func.params))
    return [
        at
        for at, param in enumerate(func.params[:count])
        if hash(param) not in written and _replaceable(param, func)
    ]


def _replaceable(param: Any, func: tirx.PrimFunc) -> bool:
    """Return whether a value can replace the parameter; for a handle none can."""
    return (
        isinstance(param.ty, tirx.BufferType)
        or tree.dtype(param) is not None
        or hash(param) not in tree.variables(func.body)
    )


def _arguments(call: Any) -> list[Any]:
    return list(call.args[1].fields if _is_call_tir(call) else call.args)


def _without_arguments(call: Any, gone: set[int]) -> Any:
    kept = [arg for at, arg in enumerate(_arguments(call)) if at not in gone]
    args = [call.args[0], relax.Tuple(kept), *call.args[2:]] if _is_call_tir(call) else kept
    return relax.Call(call.op, args, call.attrs, call.ty_args, ret_ty=call.ty)


# Edits


def _without_params(mod: tvm.IRModule, run: Sequence[tuple[str, int]]) -> tvm.IRModule:
    gone = grouped(run)
    old = kernels(mod)
    new = {name: _without(old[name], numbers) for name, numbers in gone.items()}

    def fewer(call: Any) -> Any:
        numbers = gone.get(_callee(call) or "")
        return call if numbers is None else _without_arguments(call, numbers)

    functions = {
        gvar: structural_map(func, [(tvm.ir.Call, fewer)])
        if references(func) & gone.keys()
        else func
        for gvar, func in mod.functions_items()
    }
    return with_kernels(with_functions(mod, functions), new)


def _without(func: tirx.PrimFunc, numbers: set[int]) -> tirx.PrimFunc:
    dropped = [func.params[at] for at in sorted(numbers)]
    body = without_buffers(func, {hash(param) for param in dropped})
    zeros = {
        hash(param): tirx.const(0, dtype)
        for param in dropped
        if (dtype := tree.dtype(param)) is not None
    }
    kept = [param for at, param in enumerate(func.params) if at not in numbers]
    return rebuilt(func, tree.substituted(body, zeros) if zeros else body, kept)
