"""Calls of TensorIR functions."""

from __future__ import annotations

from tvm import relax, tirx

from ...compat.ops import relax_op
from .. import tensorir
from ..choices import Choices
from ..scope import Scope, Value
from ..traits import Trait
from .kind import ARITHMETIC, Callees, Ops


def call_tir(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of a TensorIR function."""
    if c.flag(0.25):
        x = s.tensor(c, dtype=ARITHMETIC, ndim=(2, 1, 3))
        y = s.tensor(c, dtype=x.dtype, shape=x.shape)
        gvar = _kernel(c, s, "tir_sum", tensorir.binary(x.shape or (), x.dtype or ""))
        s.bind(relax.call_tir(gvar, (x.expr, y.expr), x.expr.ty))
        return
    template = c.pick(tensorir.TEMPLATES)
    gvar, x, outputs = _call_template(c, s, template)
    s.bind(relax.call_tir(gvar, (x.expr,), outputs))


def _kernel(c: Choices, s: Scope, name: str, func: tirx.PrimFunc) -> relax.GlobalVar:
    """Add a PrimFunc to call, a public one sometimes where the trait is on."""
    return s.module.add(name, func, public=s.has(Trait.PUBLIC_PRIM_FUNCS) and c.flag(0.6))


def _call_template(
    c: Choices, s: Scope, template: tensorir.Template
) -> tuple[relax.GlobalVar, Value, list[relax.TensorType]]:
    x = s.tensor(c, dtype=ARITHMETIC, ndim=template.ranks, static=template.static)
    assert x.shape is not None
    func = tensorir.prim_func(template, x.shape, x.dtype or "")
    if c.flag(0.4):
        func = func.with_attr("operator_name", f"relax.{template.name}")
    gvar = _kernel(c, s, template.name, func)
    device = x.vdevice if x.vdevice is not None and c.flag(0.7) else None
    outputs = [
        relax.TensorType(s.shape_expr(c, shape), x.dtype, device)
        for shape in template.output_shapes(x.shape)
    ]
    return gvar, x, outputs


def call_tir_inplace(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An in-place call on a value without other uses, as its documentation demands."""
    x = s.tensor(c, dtype=ARITHMETIC, ndim=(2, 1, 3), static=True)
    fresh = s.emit(relax_op.add(x.expr, x.expr))
    s.values.remove(fresh)
    if c.flag(0.4):  # read before the update
        s.emit(relax_op.multiply(fresh.expr, fresh.expr))
    shape = [d for d in x.shape or () if isinstance(d, int)]
    gvar = _kernel(c, s, "tir_inplace", tensorir.inplace(shape, x.dtype or ""))
    s.bind(relax_op.call_tir_inplace(gvar, (fresh.expr,), [0], fresh.expr.ty))


def call_tir_with_grad(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A TensorIR call that names its gradient function."""
    template = c.pick(tensorir.TEMPLATES[:2])
    gvar, x, outputs = _call_template(c, s, template)
    s.bind(relax_op.call_tir_with_grad(gvar, (x.expr,), outputs, te_grad_name="te_grad"))
