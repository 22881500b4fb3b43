"""Forms of a module: its bindings without dataflow blocks, attributes, or other functions.

A form is for violations that no binding shows, such as one of the attribute of a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from ...compat import ir
from ...generators.rewrite.change import Change
from ...generators.rewrite.dropping import CUT, without
from ...generators.rewrite.nodes import (
    global_var,
    reachable,
    references,
    sequence,
    with_functions,
    with_parts,
)
from ...generators.rewrite.rewriter import CannotRewrite, Rewriter
from ...generators.rewrite.scopes import BindingSite, scopes_of, sites_of
from ...oracles.inspect import attr, relax_functions

MAIN = "main"
SYMBOL = "global_symbol"
FORCE_PURE = "relax.force_pure"
PRIMITIVE = "Primitive"
PARTS = (PRIMITIVE, "Composite", "Codegen")

Form: TypeAlias = Callable[[], tvm.IRModule | None]
"""Makes a module; None if types do not allow it."""


def forms(mod: tvm.IRModule) -> Iterator[tuple[str, Form]]:
    """The forms of a module that differ from it, by name; those that change least come first."""
    if not (mod.global_infos or {}).get("vdevice"):
        yield "with a device", lambda: _with_device(mod)
    for name in _attributes(mod):
        yield f"without {name}", lambda name=name: _without_attribute(mod, name)  # type: ignore[misc]
    if any(FORCE_PURE in (func.attrs or {}) for _, func in relax_functions(mod)):
        yield "impure", lambda: _impure(mod)
    if any(_dataflow(func) for _, func in relax_functions(mod)):
        yield "plain blocks", lambda: _plain(mod)
    yield "bound result", lambda: _bound(mod)
    yield "alone as main", lambda: _alone(mod)
    yield "one result", lambda: _one_result(mod)


def _with_device(mod: tvm.IRModule) -> tvm.IRModule:
    infos = {**(mod.global_infos or {}), "vdevice": [ir.VDevice("llvm", 0, "global")]}
    return tvm.IRModule(dict(mod.functions_items()), attrs=mod.attrs, global_infos=infos)


def _attributes(mod: tvm.IRModule) -> list[str]:
    """Names of the attributes of functions, without those that say how a function is called."""
    names = (str(name) for _, func in relax_functions(mod) for name in dict(func.attrs or {}))
    return [each for each in dict.fromkeys(names) if each not in (SYMBOL, FORCE_PURE, PRIMITIVE)]


def _without_attribute(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    kept = {
        gvar: func.without_attr(name) if isinstance(func, relax.Function) else func
        for gvar, func in mod.functions_items()
    }
    return with_functions(mod, kept)


def _bound(mod: tvm.IRModule) -> tvm.IRModule | None:
    """Functions return variables."""
    made = dict(mod.functions_items())
    for gvar, func in relax_functions(mod):
        result = func.body.body
        if not isinstance(result, relax.Var):
            var = relax.Var("out", result.ty)
            block = relax.BindingBlock([relax.VarBinding(var, result)])
            made[gvar] = with_parts(func, body=sequence([*func.body.blocks, block], var))
    return with_functions(mod, made) if made != dict(mod.functions_items()) else None


class _Impure(Rewriter):
    """Declares functions impure that are forced to be pure."""

    def attrs(self, func: relax.Function, *, local: bool) -> Any:
        attrs = dict(func.attrs or {})
        return tvm.ir.DictAttrs(attrs) if attrs.pop(FORCE_PURE, None) else func.attrs

    def purity(self, func: relax.Function) -> bool:
        return FORCE_PURE not in (func.attrs or {}) and super().purity(func)


def _impure(mod: tvm.IRModule) -> tvm.IRModule | None:
    try:
        return _Impure(mod).rewritten()
    except CannotRewrite:
        return None


def _dataflow(func: relax.Function) -> list[relax.DataflowBlock]:
    blocks = (block for scope in scopes_of(func) for block in scope.seq.blocks)
    return [block for block in blocks if isinstance(block, relax.DataflowBlock)]


def _plain(mod: tvm.IRModule) -> tvm.IRModule | None:
    found = {str(gvar.name_hint): _dataflow(func) for gvar, func in relax_functions(mod)}
    blocks = {hash(block): False for each in found.values() for block in each}
    return Change(blocks=blocks, functions={name for name in found if found[name]}).apply(mod)


def _alone(mod: tvm.IRModule) -> tvm.IRModule | None:
    """A function that none refers to, as a public `main`, with parts and PrimFuncs, but if possible
    without calls of other functions. It is the one that refers to most bindings."""
    used_by = {str(gvar.name_hint): references(func) for gvar, func in mod.functions_items()}
    used = set().union(*used_by.values())
    roots = [(gvar, func) for gvar, func in relax_functions(mod) if gvar.name_hint not in used]
    if not roots:
        return None
    sizes = {str(g.name_hint): len(sites_of(func)) for g, func in relax_functions(mod)}

    def below(gvar: GlobalVar) -> set[str]:
        return reachable(used_by, [str(gvar.name_hint)])

    main, _ = max(roots, key=lambda each: sum(sizes.get(name, 0) for name in below(each[0])))
    own = str(main.name_hint)
    others = {name for name in sizes if name != own and not _is_part(mod[name])}
    calls = [(own, site.key) for site in sites_of(mod[own]) if not others.isdisjoint(_of(site))]
    rest = (without(mod, calls, CUT) if calls else None) or mod
    names = {str(g.name_hint): references(func) for g, func in rest.functions_items()}
    parts = {name for name in sizes if name != own and _is_part(mod[name])}
    reached = reachable(names, [own, *parts])
    if MAIN in reached - {own} or (own == MAIN and reached == set(used_by)):
        return None
    kept = {g: f for g, f in rest.functions_items() if g.name_hint in reached - {own}}
    new = rest.get_global_var(own)
    new = new if own == MAIN else global_var(MAIN, new.ty)
    return with_functions(rest, {**kept, new: rest[own].with_attr(SYMBOL, MAIN)})


def _is_part(func: relax.Function) -> bool:
    """True if passes make such functions, for a part of another one."""
    return any(attr(func, name) is not None for name in PARTS)


def _of(site: BindingSite) -> set[str]:
    return set() if site.inner else references(site.binding.value)


def _one_result(mod: tvm.IRModule) -> tvm.IRModule | None:
    """Functions that none refers to return only the value that they compute last."""
    used = set().union(*(references(func) for _, func in mod.functions_items()))
    change = Change()
    for gvar, func in relax_functions(mod):
        body = scopes_of(func)[0]
        if gvar.name_hint in used or not body.sites:
            continue
        last = body.sites[-1].var
        if not isinstance(last, relax.DataflowVar) and not last.same_as(body.seq.body):
            change.results[hash(body.seq)] = last
            change.functions.add(str(gvar.name_hint))
    return change.apply(mod) if change.functions else None
