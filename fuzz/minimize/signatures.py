"""Reductions over parameters, results and tuples, and over the callers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar, PrimType

from ...generators.rewrite.change import Change
from ...generators.rewrite.nodes import used_vars
from ...generators.rewrite.rewriter import CannotRewrite, Rewriter
from ...generators.rewrite.scopes import BindingSite, sites_of
from ...oracles.inspect import nodes, relax_functions
from .reduction import Edit, grouped, runs


def drop_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop parameters that nothing uses: all of them, then ever shorter runs of them."""
    rigid = _not_only_called(mod)
    unused = [
        (str(gvar.name_hint), place)
        for gvar, func in relax_functions(mod)
        if gvar.name_hint not in rigid
        for place in _unused(func)
    ]
    for run in runs(unused):
        yield _WithoutParams(mod, run).run


def split_tuples(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace a tuple parameter by its fields, which leaves fewer tuple parameters."""
    rigid = _not_only_called(mod)
    tuples = [
        (str(gvar.name_hint), place)
        for gvar, func in relax_functions(mod)
        if gvar.name_hint not in rigid
        for place, param in enumerate(func.params)
        if isinstance(param.ty, tvm.ir.TupleType)
    ]
    for run in runs(tuples):
        yield _SplitTuples(mod, run).run


def _unused(func: relax.Function) -> list[int]:
    """Places of unused parameters that define no needed dimension."""
    used = used_vars([func.body])
    symbols = _symbols(func, used)
    for param in func.params:
        if hash(param) in used:
            symbols -= _defined(param)
    places = []
    for place, param in enumerate(func.params):
        if hash(param) in used:
            continue
        if _defined(param) & symbols:
            symbols -= _defined(param)
        else:
            places.append(place)
    return places


def _symbols(func: relax.Function, used: set[int]) -> set[int]:
    """The dimensions in a function, except those of its unused parameters."""
    types = [func.ret_ty, *(binding.var.ty for binding in nodes(func, relax.expr.Binding))]
    types += [param.ty for param in func.params if hash(param) in used]
    found: list[Any] = []
    for ty in (*types, func.body):
        tvm_ffi.structural_walk(ty, (tvm.ir.Var, found.append))
    return {hash(var) for var in found if isinstance(var.ty, PrimType)}


def _defined(param: Any) -> set[int]:
    if isinstance(param.ty, PrimType):
        return {hash(param)}
    return {hash(var) for var in relax.analysis.definable_tir_vars_in_type(param.ty)}


def _not_only_called(mod: tvm.IRModule) -> set[str]:
    """Functions that are used in other ways than by calls with arguments, e.g. as closures."""
    every: Counter[str] = Counter()
    called: Counter[str] = Counter()
    for _, func in relax_functions(mod):
        every.update(gvar.name_hint for gvar in nodes(func, GlobalVar))
        callees = (call.op for call in nodes(func, relax.Call))
        called.update(callee.name_hint for callee in callees if isinstance(callee, GlobalVar))
    return {name for name, count in every.items() if called[name] != count}


class _Signature(Rewriter):
    """A rewriter that changes the arguments of calls, and adapts `num_input`."""

    def __init__(self, mod: tvm.IRModule, places: Sequence[tuple[str, int]]) -> None:
        super().__init__(mod)
        self._places = grouped(places)

    def instead(self, place: Any) -> list[Any]:
        """The arguments that replace one argument."""
        return []

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        if isinstance(call.op, GlobalVar):
            places = self._places.get(str(call.op.name_hint), set())
            args = [
                new
                for place, arg in enumerate(args)
                for new in (self.instead(arg) if place in places else [arg])
            ]
        return super().call(call, args)

    def attrs(self, func: relax.Function, *, local: bool) -> Any:
        inputs = func.attrs.get("num_input") if func.attrs else None
        if inputs is None or local or self.name not in self._places:
            return func.attrs
        kept = sum(
            len(self.instead(self.vars.get(hash(param), param)))
            if place in self._places[self.name]
            else 1
            for place, param in enumerate(func.params[: int(inputs)])
        )
        return func.with_attr("num_input", kept).attrs


class _WithoutParams(_Signature):
    def params(self, func: relax.Function) -> list[Any]:
        places = self._places.get(self.name, set())
        return [self.defined(p) for place, p in enumerate(func.params) if place not in places]


class _SplitTuples(_Signature):
    def params(self, func: relax.Function) -> list[Any]:
        params: list[Any] = []
        for place, param in enumerate(func.params):
            if place in self._places.get(self.name, set()):
                fields = [
                    relax.Var(f"{param.name}_{i}", self.type(ty))
                    for i, ty in enumerate(param.ty.fields)
                ]
                self.replace(param, self.inferred(relax.Tuple(fields)))
                params += fields
            else:
                params.append(self.defined(param))
        return params

    def instead(self, place: Any) -> list[Any]:
        if not isinstance(place, relax.Tuple):
            raise CannotRewrite("the fields of an argument would need bindings of their own")
        return list(place.fields)


def drop_tuple_fields(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop fields of tuple operands, and fields of tuples that nothing extracts."""
    for gvar, func in relax_functions(mod):
        sites = sites_of(func)
        for site in sites:
            value = site.binding.value
            if isinstance(value, relax.Tuple):
                taken = _taken(sites, site.key)
                for run in runs([i for i in range(len(value.fields)) if i not in taken]):
                    if len(run) < len(value.fields):
                        yield partial(_bound_without, mod, gvar.name_hint, site, frozenset(run))
            elif isinstance(value, relax.Call) and not _fixed(value):
                for place, arg in enumerate(value.args):
                    if isinstance(arg, relax.Tuple) and len(arg.fields) > 1:
                        for run in runs(range(len(arg.fields))):
                            if len(run) < len(arg.fields):
                                gone = frozenset(run)
                                yield partial(_call_without, mod, gvar.name_hint, site, place, gone)


def _fixed(call: relax.Call) -> bool:
    """Return whether the tuple of arguments must have a field for each parameter of the callee."""
    return isinstance(call.op, tvm.ir.Op) and call.op.name.startswith("relax.call_tir")


def _taken(sites: list[BindingSite], key: int) -> set[int]:
    return {
        int(value.index)
        for value in [site.binding.value for site in sites]
        if isinstance(value, relax.TupleGetItem) and hash(value.tuple_value) == key
    }


def _bound_without(
    mod: tvm.IRModule, name: str, site: BindingSite, gone: Collection[int]
) -> tvm.IRModule | None:
    values: dict[int, Any] = {site.key: _without(site.binding.value, gone)}
    for user in sites_of(mod[name]):
        value = user.binding.value
        if isinstance(value, relax.TupleGetItem) and site.key in user.operands:
            index = value.index - sum(i < value.index for i in gone)
            values[user.key] = relax.TupleGetItem(value.tuple_value, index)
    return Change(values=values, functions={name}).apply(mod)


def _call_without(
    mod: tvm.IRModule, name: str, site: BindingSite, place: int, gone: Collection[int]
) -> tvm.IRModule | None:
    call = site.binding.value
    args = [_without(arg, gone) if i == place else arg for i, arg in enumerate(call.args)]
    try:
        new = relax.BlockBuilder().normalize(relax.Call(call.op, args, call.attrs, call.ty_args))
    except Exception:  # the operator requires this number of fields
        return None
    return Change(values={site.key: new}, functions={name}).apply(mod)


def _without(whole: relax.Tuple, gone: Collection[int]) -> Any:
    fields = [field for i, field in enumerate(whole.fields) if i not in gone]
    return relax.BlockBuilder().normalize(relax.Tuple(fields))
