"""Drop bindings, with a replacement for each value that is still used."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from .change import Change
from .nodes import equal_types, references, used_vars
from .scopes import BindingScope, BindingSite, scopes_of, sites_of

Replacement: TypeAlias = Callable[["Dropping", BindingSite], Any]
"""Finds a replacement for a variable; None if there is none."""


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
        definable = relax.analysis.definable_tir_vars_in_type
        self._defined = {hash(v) for param in self.func.params for v in definable(param.ty)}

    def needed(self) -> list[BindingSite]:
        """The dropped bindings whose variables are used by remaining code."""
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

    def replace(self, site: BindingSite, kinds: Sequence[Replacement]) -> bool:
        """Replace one variable, by the first of these kinds that works."""
        for kind in kinds:
            found = kind(self, site)
            if found is not None:
                self.change.uses[site.key] = found
                if isinstance(found, relax.DataflowVar) and not self._same_block(found, site):
                    self.change.plain.add(hash(found))
                return True
        return False

    def _same_block(self, var: Any, site: BindingSite) -> bool:
        own = self.sites[hash(var)]
        inside = isinstance(site.var, relax.DataflowVar)
        return inside and own.scope is site.scope and own.block == site.block

    def fits(self, var: Any, site: BindingSite) -> bool:
        """Return whether the variable is available, and its type equal or more precise."""
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
    mod: tvm.IRModule,
    gone: Collection[tuple[str, int]],
    kinds: Sequence[Replacement],
    removed: Any = (),
) -> tvm.IRModule | None:
    """The module without these bindings (function, variable) and without `removed` functions."""
    total = Change(removed=set(removed))
    by_name: dict[str, set[int]] = {}
    for name, key in gone:
        by_name.setdefault(name, set()).add(key)
    used_by = {
        str(gvar.name_hint): _references_beside(func, by_name.get(gvar.name_hint))
        for gvar, func in mod.functions_items()
    }
    for name, keys in by_name.items():
        dropping = Dropping(mod, name, keys)
        for site in dropping.needed():
            if not dropping.replace(site, kinds):
                return None
        change = dropping.change
        total.uses |= change.uses
        total.dropped |= change.dropped
        total.plain |= change.plain
        total.functions.add(name)
        if dropping.new_params:
            _pass_on(used_by, name, dropping.new_params, total)
    if any(not _alike(used_by, name, total) for name in total.params):
        return None
    return total.apply(mod)


_Uses: TypeAlias = Mapping[str, set[str]]
"""The functions that each function refers to outside of dropped bindings."""


def _pass_on(used_by: _Uses, name: str, params: list[Any], change: Change) -> None:
    """Add the parameters to this function and to all its direct and indirect callers."""
    for caller in sorted(_callers(used_by, name) - {name} - change.removed):
        copies = [relax.Var(param.name, param.ty) for param in params]
        change.params[caller] = [*change.params.get(caller, []), *copies]
    change.params[name] = [*change.params.get(name, []), *params]


def _alike(used_by: _Uses, name: str, change: Change) -> bool:
    """Return whether the callers can pass on their own parameters."""
    params = change.params
    callers = _callers(used_by, name) - {name} - change.removed
    if not callers:
        return True
    if any(dimensions(param.ty) for param in params[name]):
        return False  # the dimensions of one function are undefined in another
    return all(len(params[caller]) == len(params[name]) for caller in callers)


def _callers(used_by: _Uses, name: str) -> set[str]:
    found: set[str] = set()
    todo = [name]
    while todo:
        callee = todo.pop()
        new = {caller for caller, used in used_by.items() if callee in used} - found
        found |= new
        todo += sorted(new)
    return found


@functools.lru_cache(256)  # asked of every function, for each function that gets parameters
def _references(func: Any) -> set[str]:
    return references(func)


def _references_beside(func: Any, dropped: set[int] | None) -> set[str]:
    """The functions that a function refers to outside of these dropped bindings."""
    if not dropped or not _references(func):
        return _references(func)
    found: set[str] = set()
    for scope in scopes_of(func):
        if scope.around is not None and scope.around.key in dropped:
            dropped = dropped | {site.key for site in scope.sites}
            continue
        found |= references(scope.seq.body)
        for site in scope.sites:
            if site.key not in dropped and not site.inner:
                found |= references(site.binding.value)
    return found


LARGEST_CONSTANT = 64
"""The most elements of a constant; a larger one is no smaller than the value it replaces."""


def operand(dropping: Dropping, site: BindingSite) -> Any:
    """A value that it was made from, so that the chain of values is kept."""
    return next((v for v in _sources(dropping, site) if dropping.fits(v, site)), None)


def existing(dropping: Dropping, site: BindingSite) -> Any:
    """A parameter, or else an earlier value."""
    candidates = [*site.params(), *(b.var for b in site.before())]
    return next((v for v in candidates if dropping.fits(v, site)), None)


def parameter(dropping: Dropping, site: BindingSite) -> Any:
    """A new parameter."""
    if isinstance(site.var.ty, relax.FuncType):
        return None
    new = relax.Var(site.var.name, dropping.type_of_param(site.var.ty))
    dropping.new_params.append(new)
    return new


def retyped(dropping: Dropping, site: BindingSite) -> Any:
    """A value that it was made from, though of another type: later types change, too."""
    tensor = isinstance(site.var.ty, relax.TensorType)
    same = [
        v
        for v in _sources(dropping, site)
        if hash(v) not in dropping.gone and isinstance(v.ty, relax.TensorType) == tensor
    ]
    return same[0] if same else None


def constant(dropping: Dropping, site: BindingSite) -> Any:
    """A small constant."""
    return small_constant(site.var.ty)


def small_constant(ty: Any) -> Any:
    """A constant of ones (zeros for integers, as for indices), if the type is static and small."""
    if isinstance(ty, relax.TupleType):
        fields = [small_constant(field) for field in ty.fields]
        if any(field is None for field in fields):
            return None
        return relax.BlockBuilder().normalize(relax.Tuple(fields))
    if not isinstance(ty, relax.TensorType) or ty.dtype is None or ty.vdevice is not None:
        return None
    dims = shape(ty)
    if not isinstance(ty.shape, relax.ShapeExpr) or not all(
        isinstance(dim, tvm.tirx.IntImm) for dim in dims
    ):
        return None
    extents = [int(dim) for dim in dims]
    # Type inference accepts negative extents; TVM cannot read back a constant without elements.
    if any(extent <= 0 for extent in extents) or math.prod(extents) > LARGEST_CONSTANT:
        return None
    dtype = str(ty.dtype)
    make = np.zeros if "int" in dtype else np.ones
    return relax.const(make(extents), dtype)


CUT: tuple[Replacement, ...] = (parameter, operand, existing, constant)
"""Replacements by a value from outside, so that everything behind the old value may go, too."""
SHORTEN: tuple[Replacement, ...] = (operand, existing, parameter, constant)
"""Replacements by a source of the value: `f(g(x))` becomes `f(x)`."""


def _sources(dropping: Dropping, site: BindingSite) -> Iterator[Any]:
    """The operands, and the operands of dropped operands."""
    todo, seen = [site], {site.key}
    while todo:
        for var in _variables(todo.pop(0).binding.value):
            if hash(var) in seen:
                continue
            seen.add(hash(var))
            yield var
            if hash(var) in dropping.gone:
                todo.append(dropping.sites[hash(var)])


def _variables(value: Any) -> list[Any]:
    if isinstance(value, relax.If | relax.Function):
        return []
    found: list[Any] = []
    tvm_ffi.structural_walk(value, (tvm.ir.Var, found.append))
    return [var for var in found if not isinstance(var.ty, tvm.ir.PrimType | relax.FuncType)]


def dimensions(ty: Any) -> list[Any]:
    """The symbolic dimensions in a type."""
    return list(relax.analysis.tir_vars_in_type(ty))


def shape(ty: Any) -> list[Any]:
    """The dimensions of a tensor or shape; empty where the type leaves them open."""
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        return list(ty.shape.values)
    if isinstance(ty, relax.ShapeType) and ty.values is not None:
        return list(ty.values)
    return []


def dead(func: relax.Function) -> set[int]:
    """The variables on which the result of the function does not depend."""
    body = scopes_of(func)[0]
    return {site.key for site in sites_of(func)} - needed_for(body, used_vars([body.seq.body]))


def needed_for(scope: BindingScope, roots: set[int]) -> set[int]:
    """The root variables and all variables they depend on, in a sequence and those nested in it.

    A cast that defines a dimension is needed wherever the dimension is.
    """
    needed = set(roots)
    _need(scope, needed, {hash(dim) for param in scope.params for dim in dimensions(param.ty)})
    return needed


def _need(scope: BindingScope, needed: set[int], own: set[int]) -> None:
    for site in reversed(scope.sites):
        binding = site.binding
        defines = isinstance(binding, relax.MatchCast) and not needed.isdisjoint(
            {hash(dim) for dim in dimensions(binding.ty)} - own
        )
        if site.key in needed or defines:
            needed |= {site.key, *map(hash, dimensions(site.var.ty))} | site.operands
            for inner in site.inner:
                needed |= used_vars([inner.seq.body])
                _need(inner, needed, own)
