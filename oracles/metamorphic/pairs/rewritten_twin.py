"""The rewritten twin: a module in which some bindings take a detour that changes nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import tvm
from tvm import relax

from ....generators.rewrite.rewriter import Rewriter
from ...inspect import attr, op_name, relax_functions
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
    functions = {
        str(gvar.name_hint)
        for gvar, func in relax_functions(mod)
        if not any(attr(func, name) is not None for name in SPECIAL)
    }
    detours = _Detours(mod, functions, wanted)
    twin = detours.run()
    return None if twin is None else (twin, tuple(detours.places))


class _Detours(Rewriter):
    def __init__(self, mod: tvm.IRModule, functions: set[str], wanted: Wanted | None) -> None:
        super().__init__(mod)
        self._functions = functions
        self._wanted = wanted
        self.places: list[Place] = []

    def rewrites(self, name: str) -> bool:
        return name in self._functions

    def binding(self, binding: relax.Binding) -> None:
        ty, name = binding.var.ty, str(binding.var.name)
        if not isinstance(binding, relax.VarBinding) or not _rewritable(ty):
            super().binding(binding)
            return
        dataflow, written = self.blocks[-1]
        before = len(written)

        def emit(expr: relax.Expr) -> relax.Var:
            return self.emit(expr, f"{name}_{len(written) - before}")

        def add(function: str, func: tvm.ir.BaseFunc) -> relax.Expr:
            return self.add_function(f"{function}_{self.name}", func)

        place = self._choice(binding, Site(binding.value, ty, dataflow, emit, add))
        if place is None or (self._wanted is not None and not self._wanted(place)):
            super().binding(binding)
            return
        self.places.append(place)
        start = value = self.expr(binding.value)
        if not place.rewrite.whole:
            start = (relax.DataflowVar if dataflow else relax.Var)(f"{name}_value", ty)
            self.write(relax.VarBinding(start, value))
        site = Site(value, ty, dataflow, emit, add)
        made = self.inferred(place.rewrite.rewrite(site, start))
        if ty.is_base_of(made.ty):
            self.write(relax.VarBinding(binding.var, made))
        else:  # type inference forgets dimensions of enclosing functions
            self.write(relax.MatchCast(binding.var, emit(made), ty))

    def _choice(self, binding: relax.VarBinding, site: Site) -> Place | None:
        op = op_name(binding.value) or type(binding.value).__name__
        chance = zlib.crc32(f"{self.name} {binding.var.name} {site.ty} {op}".encode())
        if chance % ONE_IN:
            return None
        usable = [rewrite for rewrite in REWRITES if rewrite.applies(site)]
        rewrite = usable[chance // ONE_IN % len(usable)]
        return Place(self.name, str(binding.var.name), rewrite, op)


def _rewritable(ty: relax.Type) -> bool:
    """A tensor of known shape and dtype, on no device of its own."""
    return (
        isinstance(ty, relax.TensorType)
        and isinstance(ty.shape, relax.ShapeExpr)
        and ty.dtype is not None
        and ty.vdevice is None
    )
