"""Modules cut into pieces that keep every pair of neighbouring operators."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar, Op

from ...compat import ir
from ..rewrite.nodes import (
    defining,
    free_symbolic_vars,
    global_var,
    is_symbolic,
    reachable,
    references,
    sequence,
    substitute,
    used_vars,
    with_fresh_variables,
)
from ..rewrite.scopes import BindingSite, scopes_of
from ..values import holds_function
from .piece import MAIN
from .weights import without_weights

MOST = 24
"""The most bindings of a piece."""

Pair = tuple[str, str]
"""Two operators, the second applied to a result of the first."""

_PARTS = ("Composite", "Codegen", "Primitive")
"""Attributes of functions that are parts of others."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece at the sizes of its module."""

    mod: tvm.IRModule
    function: str
    """The function from which it was cut."""
    first: int
    last: int
    """The first and last binding of the piece, counted in the body of the function; the piece may
    omit some between them."""
    pairs: frozenset[Pair]


def cut(mod: tvm.IRModule, most: int = MOST) -> Iterator[Cut]:
    """Connected pieces that together have all pairs of neighbouring operators of the module.

    Values that a piece uses from the rest become parameters. Functions that it refers to are
    included. Functions that are parts of others (Composite, Codegen, Primitive) are not cut.

    Args:
        most: the most bindings of a piece.
    """
    known: set[Pair] = set()
    for gvar, func in mod.functions_items():
        if not isinstance(func, relax.Function) or _is_part(func):
            continue
        body = _Body(without_weights(func))
        for chosen in body.windows(known, most):
            made = _module(mod, [body.sites[at] for at in chosen])
            if made is not None:
                pairs = frozenset(body.pairs(chosen))
                known |= pairs
                yield Cut(made, str(gvar.name_hint), chosen[0], chosen[-1], pairs)


def _is_part(func: relax.Function) -> bool:
    return any(func.attrs is not None and name in func.attrs for name in _PARTS)


class _Body:
    """The bindings in the body of a function, and the uses of their results."""

    def __init__(self, func: relax.Function) -> None:
        self.sites = scopes_of(func)[0].sites
        index = {site.key: at for at, site in enumerate(self.sites)}
        self._makers = [
            sorted(index[key] for key in used_vars([site.binding.value]) & index.keys())
            for site in self.sites
        ]
        self._users: dict[int, list[int]] = defaultdict(list)
        for at, makers in enumerate(self._makers):
            for maker in makers:
                self._users[maker].append(at)
        self._labels = [_label(site.binding) for site in self.sites]

    def windows(self, known: Collection[Pair], most: int) -> Iterator[list[int]]:
        """Indices of connected bindings, until each pair that is not known is in one window."""
        size = len(self.sites)
        left = set(self.pairs(range(size))).difference(known)
        lonely = {label for at, label in enumerate(self._labels) if not self._neighbours(at)}
        for at in range(size):
            new = any((self._labels[maker], self._labels[at]) in left for maker in self._makers[at])
            if new or self._labels[at] in lonely:
                chosen = self._grown(at, most)
                left.difference_update(self.pairs(chosen))
                lonely.discard(self._labels[at])
                yield chosen

    def pairs(self, chosen: Sequence[int]) -> Iterator[Pair]:
        """The pairs among these bindings."""
        inside = set(chosen)
        for at in chosen:
            for maker in self._makers[at]:
                if maker in inside:
                    yield self._labels[maker], self._labels[at]

    def _neighbours(self, at: int) -> list[int]:
        return [*self._makers[at], *self._users[at]]

    def _grown(self, at: int, most: int) -> list[int]:
        """The bindings connected to one: the makers of its operands, then the nearest others."""
        chosen = {at}
        border = set(self._makers[at])
        while len(chosen) < most:
            border = border or {n for c in chosen for n in self._neighbours(c)} - chosen
            if not border:
                break
            nearest = min(border, key=lambda n: (abs(n - at), n))
            border.remove(nearest)
            chosen.add(nearest)
            border |= set(self._neighbours(nearest)) - chosen
        return sorted(chosen)


def _label(binding: relax.Binding) -> str:
    """A label for the computation of a binding: the operator, or the kind of its value."""
    value = binding.value
    if isinstance(binding, relax.MatchCast):
        return "match_cast"
    if isinstance(value, relax.Call) and isinstance(value.op, Op):
        name = str(value.op.name)
        if len(value.args) and isinstance(value.args[0], GlobalVar):
            return f"{name} {value.args[0].name_hint}"
        return name
    return type(value).__name__


def _module(mod: tvm.IRModule, sites: Sequence[BindingSite]) -> tvm.IRModule | None:
    """The bindings as a function of the values they use; None if they use a local function.

    If functions of the module name virtual devices, the devices are included.
    """
    made = _function(sites)
    if any(holds_function(param.ty) for param in made.params):
        return None
    calls = {str(gvar.name_hint): references(each) for gvar, each in mod.functions_items()}
    kept = reachable(calls, references(made))
    rest = {gvar: _private(each) for gvar, each in mod.functions_items() if gvar.name_hint in kept}
    functions = {global_var(MAIN, made.ty): made, **rest}
    devices: list[Any] = []
    for each in functions.values():
        if isinstance(each, relax.Function):
            tvm_ffi.structural_walk(each, (ir.VDevice, devices.append))
    return tvm.IRModule(functions, global_infos=mod.global_infos if devices else None)


def _private(func: tvm.ir.BaseFunc) -> tvm.ir.BaseFunc:
    """The function without its global symbol, which may name a different function elsewhere."""
    has_name = func.attrs is not None and "global_symbol" in func.attrs
    return func.without_attr("global_symbol") if has_name else func


def _function(sites: Sequence[BindingSite]) -> relax.Function:
    """The bindings as a function of the values they use; its results are all values used later."""
    used = set().union(*(used_vars([site.binding.value]) for site in sites))
    results = [site.var for site in sites if site.key not in used]
    blocks = [
        (relax.DataflowBlock if dataflow else relax.BindingBlock)([site.binding for site in group])
        for (_, dataflow), group in itertools.groupby(sites, lambda s: (s.block, s.dataflow))
    ]
    fields = relax.BlockBuilder().normalize(relax.Tuple(results))
    body = sequence(blocks, fields if len(results) > 1 else results[0])
    free = [
        var
        for var in relax.analysis.free_vars(relax.Function([], body, body.ty))
        if not is_symbolic(var)
    ]
    # Dataflow variables that become results or parameters.
    renamed = {var: var.name for var in (*results, *free) if isinstance(var, relax.DataflowVar)}
    whole = substitute(
        relax.Function(free, body, body.ty),
        {var: relax.Var(name, var.ty) for var, name in renamed.items()},
    )
    params = [*whole.params, *defining(free_symbolic_vars(whole))]
    pure = not relax.analysis.contains_impure_call(whole)
    return with_fresh_variables(relax.Function(params, whole.body, whole.ret_ty, pure))
