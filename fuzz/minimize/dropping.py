"""Bindings dropped, with something in the place of what is still used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm import relax

from . import edit
from .change import Change
from .needs import dimensions, shape
from .rewrite import rewritten
from .scopes import Bound, bounds_of, scopes_of

Kind: TypeAlias = Callable[["Dropping", Bound], Any]
"""Finds what stands for a variable, None where there is no such thing."""


class Dropping:
    """Bindings of one function that are to be dropped."""

    def __init__(self, mod: tvm.IRModule, name: str, gone: Collection[int]) -> None:
        self.mod = mod
        self.name = name
        self.func = mod[name]
        self.bounds = {bound.key: bound for bound in bounds_of(self.func)}
        self.gone = set(gone)
        self.change = Change(dropped=self.gone, functions={name})
        self.new_params: list[Any] = []
        self._symbols: dict[str, Any] = {}
        self._defined = _symbols_defined(self.func.params)

    def needed(self) -> list[Bound]:
        """The dropped bindings whose variables are used by what is left."""
        used: set[int] = set()
        for scope in scopes_of(self.func):
            if scope.around is not None and scope.around.key in self.gone:
                self.gone |= {bound.key for bound in scope.bounds}
            else:
                used |= edit.used_vars([scope.seq.body])
        for bound in self.bounds.values():
            if bound.key not in self.gone:
                used |= bound.operands
        return [bound for key, bound in self.bounds.items() if key in self.gone & used]

    def stand_in(self, bound: Bound, kinds: Sequence[Kind]) -> bool:
        """Find one, the kinds in this order."""
        for kind in kinds:
            found = kind(self, bound)
            if found is not None:
                self.change.uses[bound.key] = found
                if isinstance(found, relax.DataflowVar) and not self._same_block(found, bound):
                    self.change.plain.add(hash(found))
                return True
        return False

    def _same_block(self, var: Any, bound: Bound) -> bool:
        own = self.bounds[hash(var)]
        inside = isinstance(bound.var, relax.DataflowVar)
        return inside and own.scope is bound.scope and own.block == bound.block

    def fits(self, var: Any, bound: Bound) -> bool:
        """It is there, and of the type of what the binding binds, or of one that says more."""
        return hash(var) not in self.gone and (
            equal_types(var.ty, bound.var.ty) or bool(bound.var.ty.is_base_of(var.ty))
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
        if isinstance(dim, relax.Var) or edit.used_vars([dim]) <= self._defined:
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
        for bound in dropping.needed():
            if not dropping.stand_in(bound, kinds):
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
    return rewritten(mod, total)


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
    references = {gvar.name_hint: edit.references(func) for gvar, func in mod.functions_items()}
    found: set[str] = set()
    todo = [name]
    while todo:
        callee = todo.pop()
        new = {caller for caller, used in references.items() if callee in used} - found
        found |= new
        todo += sorted(new)
    return found


def _symbols_defined(params: Sequence[Any]) -> set[int]:
    return {
        hash(var) for param in params for var in relax.analysis.definable_tir_vars_in_type(param.ty)
    }


def equal_types(a: Any, b: Any) -> bool:
    """The same type, in terms of the same symbolic dimensions."""
    return bool(a.same_as(b)) or bool(tvm_ffi.structural_equal(a, b, map_free_vars=False))
