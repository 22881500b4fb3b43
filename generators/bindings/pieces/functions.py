"""Pieces that stay functions, with attributes as set by passes of fusion or backends."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import relax
from tvm.ir import Op

from ...choices import Choices
from ...scope import Scope
from ...seeds.piece import bindings_of
from ...traits import Trait
from ..composites import BACKENDS

ATTRIBUTES = 0.5
"""The share of functions with attributes, if some suit them."""


def add(c: Choices, s: Scope, func: relax.Function) -> relax.GlobalVar:
    """Add a function of a piece's bindings to the module, sometimes with attributes."""
    attrs = _attributes(c, s, func)
    made = func.with_attr(dict(attrs)) if attrs else func
    return s.module.add("piece", made, public="Codegen" in attrs)


def _attributes(c: Choices, s: Scope, func: relax.Function) -> Mapping[str, object]:
    """Attributes that passes of fusion or backends set on similar functions."""
    values = [binding.value for binding in bindings_of(func)]
    calls = [value for value in values if isinstance(value, relax.Call)]
    plain = all(
        isinstance(value, relax.Call | relax.TupleGetItem | relax.Tuple) for value in values
    )
    wanted, backend, which = c.flag(ATTRIBUTES), c.pick(BACKENDS), c.below(6)
    if not (wanted and plain and func.is_pure and all(isinstance(each.op, Op) for each in calls)):
        return {}
    forms: list[Mapping[str, object]] = []
    kernels = [str(each.op.name) == "relax.call_tir" for each in calls]
    if s.has(Trait.PRIMITIVE) and all(kernels):
        forms.append({"Primitive": True})
    if s.has(Trait.COMPOSITE) and not any(kernels):
        forms.append({"Composite": f"{backend}.piece", "Primitive": True})
        forms.append({"Composite": f"{backend}.piece"})
    if s.has(Trait.CODEGEN) and not any(kernels):
        forms.append({"Codegen": backend})
    return forms[which % len(forms)] if forms else {}
