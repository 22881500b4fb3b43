"""Greedy reduction: make a module smaller as long as the same finding comes out.

A step is a plain function from a module to smaller ones, best first. Nothing here knows about
passes: whether a candidate still shows the finding is the caller's question.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from ..oracles.well_formed import flaw

Step = Callable[[tvm.IRModule], Iterator[tvm.IRModule]]
Holds = Callable[[tvm.IRModule], bool]
Block = tuple[bool, list[Any]]
"""Is it a dataflow block, and its bindings."""


def reduce(mod: tvm.IRModule, holds: Holds, seconds: float) -> tvm.IRModule:
    """The smallest module found in that time for which `holds`; `mod` itself is taken to hold.

    A candidate that is not well-formed is never asked about. Each step is repeated until none of
    its candidates holds, the list of steps until none makes progress.
    """
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for step in STEPS:
            failed = 0
            searching = True
            while searching:
                searching = False
                for number, candidate in enumerate(step(mod)):
                    if time.monotonic() > deadline:
                        return mod
                    if number < failed or flaw(candidate) is not None:
                        continue
                    if holds(candidate):
                        # What failed on the larger module mostly fails on the smaller one too;
                        # the next round over all steps tries it again.
                        mod, failed, searching, progress = candidate, number, True, True
                        break
    return mod


def keep_one_function(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """Only one function, and what it refers to."""
    for gvar in mod.get_global_vars():
        reached = _reachable(mod, gvar)
        if len(reached) < len(mod.functions):
            yield _module(mod, {g: f for g, f in mod.functions_items() if g.name_hint in reached})


def drop_functions(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """Without all functions that none refers to but one; without each of them."""
    used = {name for _, func in mod.functions_items() for name in _references(func)}
    for gvar in mod.get_global_vars():
        if gvar.name_hint not in used and len(mod.functions) > 1:
            yield _module(mod, {g: f for g, f in mod.functions_items() if not g.same_as(gvar)})


def return_less(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """A function that returns one part of what it did, or an intermediate value instead."""
    for gvar, func in _uncalled(mod):
        blocks, ret = _blocks(func), func.body.body
        choices: list[Any] = [b.var for _, bindings in blocks for b in bindings]
        if isinstance(ret, relax.Tuple):
            choices = [*ret.fields, *choices]
        for choice in choices:
            if not ret.same_as(choice):
                yield _with(mod, gvar, _returning(func, blocks, choice))
        if isinstance(ret, relax.Tuple) and len(ret.fields) > 2:
            for i in range(len(ret.fields)):
                fewer = relax.Tuple([field for j, field in enumerate(ret.fields) if j != i])
                yield _with(mod, gvar, _function(func, _live(blocks, fewer), fewer))


def drop_dead(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """Without bindings that no result depends on."""
    for gvar, func in _relax_functions(mod):
        blocks = _blocks(func)
        live = _live(blocks, func.body.body)
        if live != blocks:
            yield _with(mod, gvar, _function(func, live, func.body.body, ret_ty=func.ret_ty))


def flatten_branches(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """With one branch of an If in its place."""
    for gvar, func in _relax_functions(mod):
        blocks = _blocks(func)
        for at, (_, bindings) in enumerate(blocks):
            for i, binding in enumerate(bindings):
                if not isinstance(binding.value, relax.If):
                    continue
                for branch in (binding.value.true_branch, binding.value.false_branch):
                    inside = [
                        (isinstance(block, relax.DataflowBlock), list(block.bindings))
                        for block in branch.blocks
                    ]
                    result = relax.VarBinding(binding.var, branch.body)
                    flat = [
                        *blocks[:at],
                        (False, bindings[:i]),
                        *inside,
                        (False, [result, *bindings[i + 1 :]]),
                        *blocks[at + 1 :],
                    ]
                    yield _with(mod, gvar, _function(func, flat, func.body.body))


def drop_bindings(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """Without a run of bindings, long runs first.

    A variable that is still used becomes one of the same type that is in scope (first choice), or
    a parameter.
    """
    called = {name for _, func in mod.functions_items() for name in _references(func)}
    for gvar, func in _relax_functions(mod):
        count = sum(len(bindings) for _, bindings in _blocks(func))
        size = max(1, count // 2)
        while count:
            for start in range(0, count, size):
                run = range(start, min(start + size, count))
                if size == 1:
                    yield from _with_each(mod, gvar, _replaced(func, start))
                if gvar.name_hint not in called:
                    yield _with(mod, gvar, _parametrized(func, run))
            if size == 1:
                break
            size //= 2


def drop_params(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """Without parameters that nothing uses: all of them at once, then each."""
    for gvar, func in _uncalled(mod):
        used = _used([func.body])
        unused = [i for i, param in enumerate(func.params) if hash(param) not in used]
        if len(unused) > 1:
            yield _with(mod, gvar, _without_params(func, set(unused)))
        for i in unused:
            yield _with(mod, gvar, _without_params(func, {i}))


def drop_attributes(mod: tvm.IRModule) -> Iterator[tvm.IRModule]:
    """Without attributes and global infos, of the module and of its functions."""
    functions = dict(mod.functions_items())
    attrs = dict(mod.attrs) if mod.attrs else {}
    if mod.global_infos:
        yield tvm.IRModule(functions, attrs=attrs or None)
    for name in attrs:
        fewer = {key: value for key, value in attrs.items() if key != name}
        yield tvm.IRModule(functions, attrs=fewer or None, global_infos=mod.global_infos)
    for gvar, func in functions.items():
        for name in dict(func.attrs) if func.attrs else ():
            if name != "global_symbol":
                yield _module(mod, {**functions, gvar: func.without_attr(name)})


STEPS: Sequence[Step] = (
    # Whole functions first: every later step costs as much as the functions that are left.
    keep_one_function,
    drop_functions,
    # An earlier result makes all that follows it dead, so it goes before single bindings.
    return_less,
    drop_dead,
    # What stands in branches is out of reach of all other steps.
    flatten_branches,
    drop_bindings,
    drop_params,
    drop_attributes,
)


# Functions taken apart and put together


def _relax_functions(mod: tvm.IRModule) -> Iterator[tuple[Any, relax.Function]]:
    return (
        (gvar, func)
        for gvar, func in mod.functions_items()
        if isinstance(func, relax.Function) and isinstance(func.body, relax.SeqExpr)
    )


def _uncalled(mod: tvm.IRModule) -> Iterator[tuple[Any, relax.Function]]:
    """Functions whose signature may change: no function refers to them."""
    called = {name for _, func in mod.functions_items() for name in _references(func)}
    return ((g, f) for g, f in _relax_functions(mod) if g.name_hint not in called)


def _references(func: Any) -> set[str]:
    names: set[str] = set()
    if isinstance(func, relax.Function | tvm.tirx.PrimFunc):
        tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, lambda g: names.add(g.name_hint)))
    return names


def _reachable(mod: tvm.IRModule, gvar: Any) -> set[str]:
    by_name = {g.name_hint: func for g, func in mod.functions_items()}
    reached: set[str] = set()
    todo = [gvar.name_hint]
    while todo:
        name = todo.pop()
        if name not in reached and name in by_name:
            reached.add(name)
            todo += _references(by_name[name])
    return reached


def _module(mod: tvm.IRModule, functions: dict[Any, Any]) -> tvm.IRModule:
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _with(mod: tvm.IRModule, gvar: Any, func: relax.Function) -> tvm.IRModule:
    """The module with this function; a fresh GlobalVar where the signature is another."""
    functions = dict(mod.functions_items())
    old = functions[gvar]
    if tvm_ffi.structural_equal(old.ty, func.ty, map_free_vars=True):
        return _module(mod, {g: func if g.same_as(gvar) else f for g, f in functions.items()})
    fresh = relax.GlobalVar(gvar.name_hint)
    relax.expr._update_type(fresh, func.ty)
    return _module(
        mod, {(fresh if g.same_as(gvar) else g): f for g, f in {**functions, gvar: func}.items()}
    )


def _with_each(
    mod: tvm.IRModule, gvar: Any, functions: Iterable[relax.Function]
) -> Iterator[tvm.IRModule]:
    return (_with(mod, gvar, func) for func in functions)


def _blocks(func: relax.Function) -> list[Block]:
    return [
        (isinstance(block, relax.DataflowBlock), list(block.bindings)) for block in func.body.blocks
    ]


def _function(
    func: relax.Function,
    blocks: list[Block],
    ret: Any,
    *,
    params: Sequence[Any] | None = None,
    ret_ty: Any = None,
) -> relax.Function:
    body = relax.SeqExpr(
        [
            (relax.DataflowBlock if dataflow else relax.BindingBlock)(bindings)
            for dataflow, bindings in blocks
            if bindings
        ],
        ret,
    )
    relax.expr._update_type(body, ret.ty)
    params = list(func.params) if params is None else list(params)
    return relax.Function(
        params, body, ret.ty if ret_ty is None else ret_ty, func.is_pure, func.attrs
    )


def _used(roots: Iterable[Any]) -> set[int]:
    """Hashes of the variables that occur; each expression's own place, not its type."""
    used: set[int] = set()
    for root in roots:
        tvm_ffi.structural_walk(root, (tvm.ir.Var, lambda var: used.add(hash(var))))
    return used


def _live(blocks: list[Block], ret: Any) -> list[Block]:
    """The bindings that `ret` depends on."""
    needed = _used([ret])
    kept: list[Block] = []
    for dataflow, bindings in reversed(blocks):
        live: list[Any] = []
        for binding in reversed(bindings):
            if hash(binding.var) in needed:
                live.append(binding)
                needed |= _used([binding.value])
        kept.append((dataflow, live[::-1]))
    return kept[::-1]


def _substitute(root: Any, mapping: dict[int, Any]) -> Any:
    return tvm_ffi.structural_map(
        root,
        [(tvm.ir.Var, lambda var: mapping.get(hash(var), var))],
    )


def _substitute_blocks(blocks: list[Block], mapping: dict[int, Any]) -> list[Block]:
    return [
        (dataflow, [_substitute_binding(b, mapping) for b in bindings])
        for dataflow, bindings in blocks
    ]


def _substitute_binding(binding: Any, mapping: dict[int, Any]) -> Any:
    value = _substitute(binding.value, mapping)
    var = mapping.get(hash(binding.var), binding.var)
    if isinstance(binding, relax.MatchCast):
        return relax.MatchCast(var, value, binding.ty)
    return relax.VarBinding(var, value)


def _plain(var: Any) -> Any:
    """A variable that may be a parameter or leave its dataflow block."""
    return relax.Var(var.name, var.ty) if isinstance(var, relax.DataflowVar) else var


def _returning(func: relax.Function, blocks: list[Block], choice: Any) -> relax.Function:
    live = _live(blocks, choice)
    if isinstance(choice, relax.DataflowVar):
        outside = _plain(choice)
        live = _substitute_blocks(live, {hash(choice): outside})
        choice = outside
    return _function(func, live, choice)


def _replaced(func: relax.Function, at: int) -> Iterator[relax.Function]:
    """Without binding number `at`, its variable replaced by one of the same type before it."""
    blocks = _blocks(func)
    bindings = [b for _, block in blocks for b in block]
    binding = bindings[at]
    before = [*(b.var for b in bindings[:at]), *func.params]
    operands = _used([binding.value])
    # Its own operands first: that keeps the chain of values.
    for var in sorted(before, key=lambda v: hash(v) not in operands):
        if tvm_ffi.structural_equal(var.ty, binding.var.ty, map_free_vars=False):
            rest = [(d, [b for b in block if not b.same_as(binding)]) for d, block in blocks]
            mapping = {hash(binding.var): var}
            ret = _substitute(func.body.body, mapping)
            substituted = _substitute_blocks(rest, mapping)
            yield _function(func, substituted, ret, ret_ty=func.ret_ty)
            return


def _parametrized(func: relax.Function, run: range) -> relax.Function:
    """Without a run of bindings; those of its variables that are still used become parameters."""
    number = 0
    dropped: list[Any] = []
    rest: list[Block] = []
    for dataflow, bindings in _blocks(func):
        kept: list[Any] = []
        for binding in bindings:
            (dropped if number in run else kept).append(binding)
            number += 1
        rest.append((dataflow, kept))
    used = _used([func.body.body, *(b.value for _, block in rest for b in block)])
    new = {hash(b.var): _plain(b.var) for b in dropped if hash(b.var) in used}
    return _function(
        func,
        _substitute_blocks(rest, new),
        _substitute(func.body.body, new),
        params=[*func.params, *new.values()],
        ret_ty=func.ret_ty,
    )


def _without_params(func: relax.Function, unused: set[int]) -> relax.Function:
    params = [param for i, param in enumerate(func.params) if i not in unused]
    smaller = _function(func, _blocks(func), func.body.body, params=params, ret_ty=func.ret_ty)
    if func.attrs and "num_input" in func.attrs:
        inputs = int(func.attrs["num_input"])
        smaller = smaller.with_attr("num_input", inputs - sum(i < inputs for i in unused))
    return smaller
