"""Calls of TensorIR functions."""

from __future__ import annotations

from tvm import relax, tirx

from ...compat.ops import relax_op
from .. import tensorir
from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from ..values import Dim
from .kind import ARITHMETIC, Callees, Ops

KERNEL_DTYPES = (*ARITHMETIC, "int8", "uint8")


def call_tir(c: Choices, s: Scope, ops: Ops, callees: Callees, *, alone: bool = False) -> None:
    """A call of a TensorIR function; one or all of its outputs are used.

    Args:
        alone: no other binding may stand beside it.
    """
    call, outputs = _call_template(c, s, c.pick(tensorir.TEMPLATES), alone=alone)
    result = s.bind(relax.call_tir(*call, outputs))
    if len(outputs) > 1 and c.flag(0.4):
        s.bind(relax.TupleGetItem(result, c.below(len(outputs))))


def _kernel(c: Choices, s: Scope, name: str, func: tirx.PrimFunc) -> relax.GlobalVar:
    """Add a PrimFunc to call; it is sometimes public if the module has the trait."""
    return s.module.add(name, func, public=s.has(Trait.PUBLIC_PRIM_FUNCS) and c.flag(0.6))


def _call_template(
    c: Choices, s: Scope, template: tensorir.Template, *, alone: bool = False
) -> tuple[tuple[relax.GlobalVar, relax.Tuple], list[relax.TensorType]]:
    """The callee, its operands, and the types of its outputs."""
    x = s.tensor(c, dtype=KERNEL_DTYPES, ndim=(2, 1, 3, 4), static=template.static)
    assert x.shape is not None
    args = [x.expr if alone else s.forgotten(c, x)]
    args += [s.tensor(c, dtype=x.dtype, shape=x.shape).expr for _ in range(template.inputs - 1)]
    dims: list[Dim] = list(x.shape)
    if c.flag(0.15) and not template.static:  # one kernel for any size
        dims = [tirx.Var("dim", "int64") if c.flag(0.6) else dim for dim in dims]
    func = tensorir.prim_func(template, dims, x.dtype or "")
    if c.flag(0.4):
        func = func.with_attr("operator_name", f"relax.{template.name}")
    gvar = _kernel(c, s, template.name, func)
    device = x.vdevice if x.vdevice is not None and c.flag(0.7) else None
    if template.scalar:
        args.append(relax.prim_value(c.pick((2, 3, 1, 0, *s.dims))))
    shapes = template.output_shapes(x.shape)
    if template.leading:
        leading = c.pick(s.dims)
        shapes = [(leading, *shape) for shape in shapes]
    outputs = [
        relax.TensorType(s.shape_expr(c, shape), template.output_dtype or x.dtype, device)
        for shape in shapes
    ]
    return (gvar, relax.Tuple(args)), outputs


def call_tir_inplace(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An in-place call on values without other uses, as its documentation demands."""
    x = s.tensor(c, dtype=ARITHMETIC, ndim=(2, 1, 3), static=True)
    buffers, new = c.pick(((1, 0), (1, 0), (2, 0), (1, 1), (2, 1)))
    fresh = [s.emit(relax_op.add(x.expr, x.expr)) for _ in range(buffers)]
    for value in fresh:
        s.values.remove(value)
    if c.flag(0.4):  # it is read before the update
        s.emit(relax_op.multiply(fresh[0].expr, fresh[0].expr))
    shape = [d for d in x.shape or () if isinstance(d, int)]
    gvar = _kernel(c, s, "tir_inplace", tensorir.inplace(shape, x.dtype or "", buffers, new))
    places = list(range(buffers))
    if c.flag(0.3):
        places.reverse()  # outputs may alias the operands in any order
    places += [-1] * new
    types = [fresh[0].expr.ty for _ in places]
    args = tuple(value.expr for value in fresh)
    s.bind(relax_op.call_tir_inplace(gvar, args, places, types if len(types) > 1 else types[0]))


def call_tir_with_grad(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A TensorIR call that names its gradient function."""
    call, outputs = _call_template(c, s, c.pick(tensorir.TEMPLATES[:2]))
    s.bind(relax_op.call_tir_with_grad(*call, outputs, te_grad_name="te_grad"))
