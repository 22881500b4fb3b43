"""The rewritten twin: a module in which some bindings take a detour that changes nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from ...errors import Unsupported
from ...inspect import attr, op_name, relax_functions
from .rebuild import Rebuild
from .rewrites import REWRITES, Rewrite, Site

SPECIAL = ("Composite", "Codegen", "Primitive")
"""Functions with these attributes are read by passes and backends as they stand."""

ONE_IN = 3
"""Of the bindings, those that are rewritten: enough to hit something, and still the same module."""


@dataclass(frozen=True, slots=True)
class Place:
    """A binding and the rewrite that it gets."""

    function: str
    variable: str
    rewrite: Rewrite
    op: str
    """The operator whose result is rewritten, or the kind of expression."""


Wanted = Callable[[Place], bool]


def rewritten_twin(
    mod: tvm.IRModule, wanted: Wanted | None = None
) -> tuple[tvm.IRModule, tuple[Place, ...]] | None:
    """The module with some bindings rewritten, and which; None where no binding is.

    Which binding gets which rewrite depends on its variable's name, its type and what is bound,
    on nothing else: the same ones are rewritten when the module gets smaller around them.

    Args:
        wanted: rewrite only these.
    """
    twin = mod.clone()
    places: list[Place] = []
    for gvar, func in relax_functions(mod):
        if any(attr(func, name) is not None for name in SPECIAL):
            continue
        rewriting = _Rewriting(twin, str(gvar.name_hint), wanted)
        try:
            new = rewriting.function(func)
        except Unsupported:
            continue
        if rewriting.places:
            places += rewriting.places
            twin = rewriting.builder.get()
            twin[gvar] = new
    return (twin, tuple(places)) if places else None


class _Rewriting(Rebuild):
    def __init__(self, mod: tvm.IRModule, function: str, wanted: Wanted | None) -> None:
        super().__init__(mod)
        self._function_name = function
        self._wanted = wanted
        self.places: list[Place] = []

    def binding(self, binding: relax.Binding, dataflow: bool) -> list[relax.Binding]:
        ty, value = binding.var.ty, binding.value
        if not isinstance(binding, relax.VarBinding) or not _rewritable(ty):
            return super().binding(binding, dataflow)
        before: list[relax.Binding] = []
        kind = relax.DataflowVar if dataflow else relax.Var

        def emit(expr: relax.Expr) -> relax.Var:
            expr = self.builder.normalize(expr)
            var = kind(f"{binding.var.name}_{len(before)}", expr.ty)
            before.append(relax.VarBinding(var, expr))
            return var

        site = Site(self.expr(value), ty, dataflow, emit, self._add)
        place = self._choice(binding, site)
        if place is None or (self._wanted is not None and not self._wanted(place)):
            return super().binding(binding, dataflow)
        self.places.append(place)
        start = site.value
        if not place.rewrite.whole:
            start = kind(f"{binding.var.name}_value", ty)
            before.append(relax.VarBinding(start, site.value))
        end = place.rewrite.rewrite(site, start)
        return [*before, relax.VarBinding(binding.var, end)]

    def _choice(self, binding: relax.VarBinding, site: Site) -> Place | None:
        op = op_name(binding.value) or type(binding.value).__name__
        chance = zlib.crc32(f"{self._function_name} {binding.var.name} {site.ty} {op}".encode())
        if chance % ONE_IN:
            return None
        usable = [rewrite for rewrite in REWRITES if rewrite.applies(site)]
        rewrite = usable[chance // ONE_IN % len(usable)]
        return Place(self._function_name, str(binding.var.name), rewrite, op)

    def _add(self, name: str, func: tvm.ir.BaseFunc) -> relax.Expr:
        if isinstance(func, relax.Function):
            func = self.builder.normalize(func)
        return self.builder.add_func(func, f"{name}_{self._function_name}")


def _rewritable(ty: relax.Type) -> bool:
    """A tensor of known shape and dtype, on no device of its own."""
    return (
        isinstance(ty, relax.TensorType)
        and isinstance(ty.shape, relax.ShapeExpr)
        and ty.dtype is not None
        and ty.vdevice is None
    )


def kinds(places: Sequence[Place]) -> str:
    """The rewrite's name; of several, that they are several."""
    names = {place.rewrite.name for place in places}
    return names.pop() if len(names) == 1 else "several rewrites"
