"""Functions as passes of fusion and of backends leave them, marked by their attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tvm import relax

from ...compat.ops import relax_op
from .. import bindings, tensorir
from ..bindings import BACKENDS
from ..bindings.kind import finish
from ..choices import Choices
from ..idioms.building import Builder
from ..idioms.pattern import parse
from ..module_scope import ModuleScope
from ..scope import DEFAULT_DTYPE, Scope
from ..traits import Trait
from ..values import dims_of

PATTERNS = ("matmul", "add", "multiply_relu", "conv2d_relu")

BESIDE = 0.15
"""The chance that a primitive function returns a parameter, too."""

_CONV_BIAS_RELU = parse("nn.relu(add(nn.conv2d(X, W), B))", {})


def composites(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Private functions as FuseOpsByPattern leaves them: attribute Composite, a pattern inside."""
    made = [_composite(part, module) for part in c.some(4)]
    return [module.add("composite", func) for func in made]


def _composite(c: Choices, module: ModuleScope) -> relax.Function:
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    pattern = c.pick(PATTERNS[1:])
    shape = (c.pick((2, 3)), 3)
    x = s.fresh(Choices(b""), shape, DEFAULT_DTYPE)
    s.dataflow(True)
    if pattern == "conv2d_relu":
        s.bind(Builder(Choices(b""), s).last(_CONV_BIAS_RELU), export=True)
    elif pattern == "multiply_relu":
        s.emit(relax_op.nn.relu(s.emit(relax_op.multiply(x.expr, x.expr)).expr), export=True)
    else:
        s.emit(relax_op.add(x.expr, s.fresh(Choices(b""), shape, DEFAULT_DTYPE).expr), export=True)
    s.close()
    backend = c.pick(BACKENDS)
    both: dict[str, Any] = {"Composite": f"{backend}.{pattern}", "Primitive": True}
    attrs = c.pick((both, both, both, {"Composite": both["Composite"]}, {"Primitive": True}))
    return finish(s, s.values[-1].expr, attrs)


BOUNDS = (128, 8)
"""Upper bounds beyond any size of a symbolic dim in tests; the first one keeps tensors small."""

BOUNDED_ELEMENTS = 2**24
"""Most elements of a tensor with all dims at their bounds: planning may allocate all of them."""


def bounded(c: Choices, func: relax.Function) -> relax.Function:
    """The function with attributes about its symbolic variables, which planning of memory and CUDA
    graphs read."""
    names = [str(v.name) for p in func.params for v in relax.analysis.tir_vars_in_type(p.ty)]
    some = c.picks((True, True, False), 4)
    if not names:
        return func
    unique = list(dict.fromkeys(names))
    chosen = unique[: 1 + c.below(len(unique))]
    attrs: tuple[tuple[str, object], ...] = (
        ("tir_var_upper_bound", dict.fromkeys(chosen, _bound(func))),
        ("relax.rewrite_cuda_graph.capture_symbolic_vars", chosen),
        ("tir_non_negative_var", unique),
        ("relax.memory_plan_dynamic_func_output", True),
    )
    for (key, value), has in zip(attrs, some, strict=True):
        func = func.with_attr(key, value) if has else func
    if some[0] and c.flag(0.3):
        func = func.with_attr("tir_var_lower_bound", dict.fromkeys(chosen, 0))
    return func


def _bound(func: relax.Function) -> int:
    shapes = [
        dims_of(var.ty.shape)
        for var in relax.analysis.all_vars(func)
        if isinstance(var.ty, relax.TensorType) and isinstance(var.ty.shape, relax.ShapeExpr)
    ]

    def elements(bound: int) -> int:
        sizes = ([dim if isinstance(dim, int) else bound for dim in dims] for dims in shapes)
        return max(map(math.prod, sizes), default=0)

    return next((b for b in BOUNDS if elements(b) <= BOUNDED_ELEMENTS), BOUNDS[-1])


def primitive(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A private function as FuseOps leaves it: attribute Primitive, only TensorIR calls inside."""
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    s.fresh(Choices(b""), (2, 3), DEFAULT_DTYPE)
    s.dataflow(True)
    for last in (False, True)[-1 - c.below(2) :]:
        s.exporting = last
        bindings.call_tir(c, s, (), (), alone=True)
    s.close()
    result = s.values[-1].expr
    if c.flag(BESIDE):
        result = relax.Tuple([result, c.pick(s.params)])
    return [module.add("fused", finish(s, result, {"Primitive": True}))]


def codegen(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A function as MergeCompositeFunctions leaves it: attribute Codegen, composites inside.

    The composite is a local function, a function of the module, or absent. Some functions need
    workspace memory, as cutlass annotates its functions.
    """
    backend = c.pick(BACKENDS)
    inner = c.below(6)
    workspace = {"WorkspaceSize": c.pick((64, 256))} if c.flag(0.5) else {}
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    x = s.fresh(Choices(b""), (2, 3), DEFAULT_DTYPE)
    if inner == 5:
        s.emit(relax_op.nn.relu(x.expr))
    else:
        named = {"Composite": f"{backend}.relu", **workspace}
        relu = _relu(c, module, x.expr.ty, named, nested=inner == 3)
        s.dataflow(False)
        apart = inner == 4 and Trait.COMPOSITE in module.traits
        callee = module.add("composite", relu) if apart else s.bind(relu)
        for _ in range(1 + c.flag(0.3)):
            s.bind(relax.Call(callee, [x.expr]))
    attrs: dict[str, Any] = {"Codegen": backend, **workspace}
    if inner == 5 and c.flag():  # once operators are legalized, only kernels are called
        attrs["Primitive"] = True
    func = finish(s, s.values[-1].expr, attrs)
    return [module.add("codegen", func, public=True)]


def _relu(
    c: Choices, module: ModuleScope, ty: relax.Type, attrs: Mapping[str, Any], *, nested: bool
) -> relax.Function:
    """A Composite function of one operator, or of a Composite function that has it."""
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    param = relax.Var("y", ty)
    s.params = [param]
    if nested:
        s.dataflow(False)
        inner = _relu(c, module, ty, attrs, nested=False)
        result = s.bind(relax.Call(s.bind(inner), [param]))
    else:
        s.dataflow(True)
        result = s.emit(relax_op.nn.relu(param), export=True).expr
    return finish(s, result, attrs)


def entry(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Sometimes a public PrimFunc that no Relax function calls."""
    if not c.flag():
        return []
    kernel = tensorir.prim_func(c.pick(tensorir.TEMPLATES), (c.pick((2, 3)), 4), DEFAULT_DTYPE)
    return [module.add("tir_entry", kernel, public=True)]
