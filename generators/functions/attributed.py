"""Functions as passes of fusion and of backends leave them, known by their attributes."""

from __future__ import annotations

from tvm import relax

from ...compat.ops import relax_op
from .. import bindings, tensorir
from ..choices import Choices
from ..idioms.products import conv_bias
from ..scope import DEFAULT_DTYPE, ModuleScope, Scope
from .general import finish

PATTERNS = ("matmul", "add", "multiply_relu", "conv2d_relu")


BACKENDS = ("cutlass", "dnnl", "tensorrt")


def composites(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Private functions as FuseOpsByPattern leaves them: attribute Composite, a pattern inside."""
    made = [_composite(part, module) for part in c.some(3)]
    return [module.add("composite", func) for func in made]


def _composite(c: Choices, module: ModuleScope) -> relax.Function:
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    pattern = c.pick(PATTERNS[1:])
    shape = (c.pick((2, 3)), 3)
    x = s.fresh(Choices(b""), shape, DEFAULT_DTYPE)
    s.dataflow(True)
    if pattern == "conv2d_relu":
        s.emit(relax_op.nn.relu(conv_bias(Choices(b""), s)), export=True)
    elif pattern == "multiply_relu":
        s.emit(relax_op.nn.relu(s.emit(relax_op.multiply(x.expr, x.expr)).expr), export=True)
    else:
        s.emit(relax_op.add(x.expr, s.fresh(Choices(b""), shape, DEFAULT_DTYPE).expr), export=True)
    s.close()
    attrs = {"Composite": f"{c.pick(BACKENDS)}.{pattern}", "Primitive": True}
    return finish(c, s, s.values[-1].expr, attrs)


def primitive(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A private function as FuseOps leaves it: attribute Primitive, only TensorIR calls inside."""
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    s.fresh(Choices(b""), (2, 3), DEFAULT_DTYPE)
    s.dataflow(True)
    for last in (False, True)[-1 - c.below(2) :]:
        s.exporting = last
        bindings.call_tir(c, s, (), ())
    s.close()
    return [module.add("fused", finish(c, s, s.values[-1].expr, {"Primitive": True}))]


def codegen(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A function as MergeCompositeFunctions leaves it: attribute Codegen, composites inside."""
    backend = c.pick(BACKENDS)
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    x = s.fresh(Choices(b""), (2, 3), DEFAULT_DTYPE)
    param = relax.Var("y", x.expr.ty)
    inner = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    inner.params = [param]
    inner.dataflow(True)
    out = inner.emit(relax_op.nn.relu(param), export=True)
    local = finish(c, inner, out.expr, {"Composite": f"{backend}.relu"})
    s.dataflow(False)
    s.bind(relax.Call(s.bind(local), [x.expr]))
    func = finish(c, s, s.values[-1].expr, {"Codegen": backend})
    return [module.add("codegen", func, public=True)]


def entry(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Sometimes a public PrimFunc that no Relax function calls."""
    if not c.flag():
        return []
    kernel = tensorir.prim_func(c.pick(tensorir.TEMPLATES), (c.pick((2, 3)), 4), DEFAULT_DTYPE)
    return [module.add("tir_entry", kernel, public=True)]
