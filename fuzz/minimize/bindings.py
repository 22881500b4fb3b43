"""Reductions over the bindings of functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from . import edit
from .edit import Block
from .reduction import Edit


def return_less(mod: tvm.IRModule) -> Iterator[Edit]:
    """A function that returns one part of what it did, or an intermediate value instead."""
    for gvar, func in edit.uncalled(mod):
        blocks, ret = edit.blocks_of(func), func.body.body
        choices: list[Any] = [b.var for _, bindings in blocks for b in bindings]
        if isinstance(ret, relax.Tuple):
            choices = [*ret.fields, *choices]
        for choice in choices:
            if not ret.same_as(choice):
                yield partial(_returning, mod, gvar, func, blocks, choice)
        if isinstance(ret, relax.Tuple) and len(ret.fields) > 2:
            for i in range(len(ret.fields)):
                yield partial(_without_field, mod, gvar, func, i)


def drop_dead(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without bindings that no result depends on."""
    for gvar, func in edit.relax_functions(mod):
        blocks = edit.blocks_of(func)
        live = edit.live_blocks(blocks, func.body.body)
        if live != blocks:
            yield partial(_with_blocks, mod, gvar, func, live, func.ret_ty)


def flatten_branches(mod: tvm.IRModule) -> Iterator[Edit]:
    """With one branch of an If in its place."""
    for gvar, func in edit.relax_functions(mod):
        blocks = edit.blocks_of(func)
        for at, (_, bindings) in enumerate(blocks):
            for i, binding in enumerate(bindings):
                if isinstance(binding.value, relax.If):
                    for branch in (binding.value.true_branch, binding.value.false_branch):
                        yield partial(_flattened, mod, gvar, func, at, i, branch)


def drop_bindings(mod: tvm.IRModule) -> Iterator[Edit]:
    """Without a run of bindings, long runs first.

    A variable that is still used becomes one of the same type that is in scope (first choice), or
    a parameter.
    """
    called = {name for _, func in mod.functions_items() for name in edit.references(func)}
    for gvar, func in edit.relax_functions(mod):
        count = sum(len(bindings) for _, bindings in edit.blocks_of(func))
        size = max(1, count // 2)
        while count:
            for start in range(0, count, size):
                run = range(start, min(start + size, count))
                if size == 1:
                    yield partial(_replaced, mod, gvar, func, start)
                if gvar.name_hint not in called:
                    yield partial(_parametrized, mod, gvar, func, run)
            if size == 1:
                break
            size //= 2


def _returning(
    mod: tvm.IRModule, gvar: Any, func: relax.Function, blocks: list[Block], choice: Any
) -> tvm.IRModule:
    live = edit.live_blocks(blocks, choice)
    if isinstance(choice, relax.DataflowVar):
        outside = edit.plain(choice)
        live = edit.substitute_blocks(live, {hash(choice): outside})
        choice = outside
    return edit.with_function(mod, gvar, edit.rebuilt(func, live, choice))


def _without_field(mod: tvm.IRModule, gvar: Any, func: relax.Function, at: int) -> tvm.IRModule:
    fewer = relax.Tuple([field for i, field in enumerate(func.body.body.fields) if i != at])
    live = edit.live_blocks(edit.blocks_of(func), fewer)
    return edit.with_function(mod, gvar, edit.rebuilt(func, live, fewer))


def _with_blocks(
    mod: tvm.IRModule, gvar: Any, func: relax.Function, blocks: list[Block], ret_ty: Any
) -> tvm.IRModule:
    return edit.with_function(mod, gvar, edit.rebuilt(func, blocks, func.body.body, ret_ty=ret_ty))


def _flattened(
    mod: tvm.IRModule, gvar: Any, func: relax.Function, at: int, i: int, branch: relax.SeqExpr
) -> tvm.IRModule:
    blocks = edit.blocks_of(func)
    _, bindings = blocks[at]
    inside = [
        (isinstance(block, relax.DataflowBlock), list(block.bindings)) for block in branch.blocks
    ]
    result = relax.VarBinding(bindings[i].var, branch.body)
    flat = [
        *blocks[:at],
        (False, bindings[:i]),
        *inside,
        (False, [result, *bindings[i + 1 :]]),
        *blocks[at + 1 :],
    ]
    return _with_blocks(mod, gvar, func, flat, None)


def _replaced(mod: tvm.IRModule, gvar: Any, func: relax.Function, at: int) -> tvm.IRModule | None:
    """Without binding number `at`, its variable replaced by one of the same type before it."""
    blocks = edit.blocks_of(func)
    bindings = [b for _, block in blocks for b in block]
    binding = bindings[at]
    before = [*(b.var for b in bindings[:at]), *func.params]
    operands = edit.used_vars([binding.value])
    # Its own operands first: that keeps the chain of values.
    for var in sorted(before, key=lambda v: hash(v) not in operands):
        if tvm_ffi.structural_equal(var.ty, binding.var.ty, map_free_vars=False):
            rest = [(d, [b for b in block if not b.same_as(binding)]) for d, block in blocks]
            mapping = {hash(binding.var): var}
            ret = edit.substitute(func.body.body, mapping)
            smaller = edit.rebuilt(
                func, edit.substitute_blocks(rest, mapping), ret, ret_ty=func.ret_ty
            )
            return edit.with_function(mod, gvar, smaller)
    return None


def _parametrized(mod: tvm.IRModule, gvar: Any, func: relax.Function, run: range) -> tvm.IRModule:
    """Without a run of bindings; those of its variables that are still used become parameters."""
    number = 0
    dropped: list[Any] = []
    rest: list[Block] = []
    for dataflow, bindings in edit.blocks_of(func):
        kept: list[Any] = []
        for binding in bindings:
            (dropped if number in run else kept).append(binding)
            number += 1
        rest.append((dataflow, kept))
    used = edit.used_vars([func.body.body, *(b.value for _, block in rest for b in block)])
    new = {hash(b.var): edit.plain(b.var) for b in dropped if hash(b.var) in used}
    smaller = edit.rebuilt(
        func,
        edit.substitute_blocks(rest, new),
        edit.substitute(func.body.body, new),
        params=[*func.params, *new.values()],
        ret_ty=func.ret_ty,
    )
    return edit.with_function(mod, gvar, smaller)
