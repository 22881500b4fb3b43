"""Bindings dropped, with something in the place of what is still used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.nodes import equal_types, references, used_vars
from ...generators.rewrite.scopes import Site, scopes_of, sites_of
from .needs import dimensions, shape

Kind: TypeAlias = Callable[["Dropping", Site], Any]
"""Finds what stands for a variable, None where there is no such thing."""


class Dropping:
    """Bindings of one function that are to be dropped."""

    def __init__(self, mod: tvm.IRModule, name: str, gone: Collection[int]) -> None:
        self.mod = mod
        self.name = name
        self.func = mod[name]
        self.sites = {site.key: site for site in sites_of(self.func)}
        self.gone = set(gone)
        self.change = Change(dropped=self.gone, functions={name})
        self.new_params: list[Any] = []
        self._symbols: dict[str, Any] = {}
        self._defined = _symbols_defined(self.func.params)

    def needed(self) -> list[Site]:
        """The dropped bindings whose variables are used by what is left."""
        used: set[int] = set()
        for scope in scopes_of(self.func):
            if scope.around is not None and scope.around.key in self.gone:
                self.gone |= {site.key for site in scope.sites}
            else:
                used |= used_vars([scope.seq.body])
        for site in self.sites.values():
            if site.key not in self.gone:
                used |= site.operands
        return [site for key, site in self.sites.items() if key in self.gone & used]

    def stand_in(self, site: Site, kinds: Sequence[Kind]) -> bool:
        """Find one, the kinds in this order."""
        for kind in kinds:
            found = kind(self, site)
            if found is not None:
                self.change.uses[site.key] = found
                if isinstance(found, relax.DataflowVar) and not self._same_block(found, site):
                    self.change.plain.add(hash(found))
                return True
        return False

    def _same_block(self, var: Any, site: Site) -> bool:
        own = self.sites[hash(var)]
        inside = isinstance(site.var, relax.DataflowVar)
        return inside and own.scope is site.scope and own.block == site.block

    def fits(self, var: Any, site: Site) -> bool:
        """It is there, and of the type of what the binding binds, or of one that says more."""
        return hash(var) not in self.gone and (
            equal_types(var.ty, site.var.ty) or bool(site.var.ty.is_base_of(var.ty))
        )

    def type_of_param(self, ty: Any) -> Any:
        """The type in terms of dimensions that parameters can define."""
        if isinstance(ty, relax.TupleType):
            return relax.TupleType([self.type_of_param(field) for field in ty.fields])
        if not isinstance(ty, relax.TensorType | relax.ShapeType):
            return ty
        if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.Var):
            return relax.TensorType(None, ty.dtype, ty.vdevice, ty.ndim)
        dims = [self._dimension(dim) for dim in shape(ty)]
        if not dims:
            return ty
        if isinstance(ty, relax.ShapeType):
            return relax.ShapeType(dims)
        return relax.TensorType(dims, ty.dtype, ty.vdevice)

    def _dimension(self, dim: Any) -> Any:
        if isinstance(dim, relax.Var) or used_vars([dim]) <= self._defined:
            return dim
        return self._symbols.setdefault(
            str(dim), tvm.tirx.Var(f"m{len(self._symbols)}", dim.ty.dtype)
        )


def without(
    mod: tvm.IRModule, gone: Collection[tuple[str, int]], kinds: Sequence[Kind], removed: Any = ()
) -> tvm.IRModule | None:
    """The module without these bindings (function, variable), and without the removed functions."""
    total = Change(removed=set(removed))
    for name in {name: None for name, _ in gone}:
        dropping = Dropping(mod, name, {key for function, key in gone if function == name})
        for site in dropping.needed():
            if not dropping.stand_in(site, kinds):
                return None
        change = dropping.change
        total.uses |= change.uses
        total.dropped |= change.dropped
        total.plain |= change.plain
        total.functions.add(name)
        if dropping.new_params:
            _pass_on(mod, name, dropping.new_params, total)
    if any(not _alike(mod, name, total) for name in total.params):
        return None
    return total.apply(mod)


def _pass_on(mod: tvm.IRModule, name: str, params: list[Any], change: Change) -> None:
    """Let all functions that call this one, and those that call them, take the parameters too."""
    for caller in sorted(_callers(mod, name) - {name} - change.removed):
        copies = [relax.Var(param.name, param.ty) for param in params]
        change.params[caller] = [*change.params.get(caller, []), *copies]
    change.params[name] = [*change.params.get(name, []), *params]


def _alike(mod: tvm.IRModule, name: str, change: Change) -> bool:
    """The callers can pass on what they take themselves."""
    params = change.params
    callers = _callers(mod, name) - {name} - change.removed
    if not callers:
        return True
    if any(dimensions(param.ty) for param in params[name]):
        return False  # the dimensions of one function say nothing in another
    return all(len(params[caller]) == len(params[name]) for caller in callers)


def _callers(mod: tvm.IRModule, name: str) -> set[str]:
    used_by = {gvar.name_hint: references(func) for gvar, func in mod.functions_items()}
    found: set[str] = set()
    todo = [name]
    while todo:
        callee = todo.pop()
        new = {caller for caller, used in used_by.items() if callee in used} - found
        found |= new
        todo += sorted(new)
    return found


def _symbols_defined(params: Sequence[Any]) -> set[int]:
    return {
        hash(var) for param in params for var in relax.analysis.definable_tir_vars_in_type(param.ty)
    }
