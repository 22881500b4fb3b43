"""Relax functions: the general one, and the special shapes that passes know by attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm import relax, tirx

from ..compat.ops import existing, relax_op
from . import bindings, tensorir
from .bindings import Callee
from .choices import Choices
from .idioms.building import Builder
from .idioms.pattern import parse
from .ops.record import Op
from .scope import DEFAULT_DTYPE, DTYPES, Dim, ModuleScope, Scope
from .traits import Trait


def scope(c: Choices, module: ModuleScope) -> Scope:
    """A scope with a palette of dims and dtypes of its own; symbolic variables are fresh ones."""
    sizes: list[Dim] = [c.pick((2, 3, 4)), c.pick((3, 4, 8))]
    if Trait.UNIT_DIMS in module.traits:
        sizes.append(1)
    if Trait.ZERO_SIZE in module.traits:
        sizes.append(0)
    if Trait.SYMBOLIC_SHAPES in module.traits and c.flag(0.8):
        n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
        sizes += [n, m]
        if Trait.COMPOSITE_DIMS in module.traits:
            sizes.append(c.pick((n * 2, n * 4 + 1, n + m)))
    dtypes = [DEFAULT_DTYPE]
    if Trait.DTYPES in module.traits:
        dtypes = [c.pick(DTYPES), c.pick(DTYPES)]
    return Scope(module, sizes, dtypes)


def general(
    c: Choices,
    module: ModuleScope,
    body: Sequence[bytes],
    ops: Sequence[Op],
    callees: Sequence[Callee],
) -> relax.Function:
    """A function of any bindings, one for each byte string of the body."""
    s = scope(c, module)
    if s.has(Trait.TUPLES) and c.flag(0.3):
        tuple_param(c, s)
    dataflow = not (s.has(Trait.NON_DATAFLOW) and c.flag(0.3))
    kinds = bindings.kinds(s)
    for number, data in enumerate(body):
        choices = Choices(data)
        kind = choices.pick(kinds)
        if s.has(Trait.NON_DATAFLOW) and choices.flag(0.15):
            dataflow = not dataflow
        s.dataflow(dataflow and kind.dataflow)
        s.device = choices.pick([None, *module.vdevices])
        # Decided in any case: what follows must not change where a later binding is removed.
        s.exporting = choices.flag(0.2) or number == len(body) - 1
        kind.emit(choices, s, ops, callees)
    s.close()
    return finish(c, s, _result(c, s))


def tuple_param(c: Choices, s: Scope) -> relax.Var:
    """A parameter that is a tuple of one to three tensors, sometimes with a tuple inside."""
    fields: list[relax.Type] = [
        relax.TensorType(s.shape(c, c.pick((2, 1))), c.pick(s.dtypes))
        for _ in range(1 + c.below(3))
    ]
    if c.flag(0.25):
        fields.append(relax.TupleType(fields[:1]))
    if s.has(Trait.INCOMPLETE_TYPES) and c.flag():
        fields.append(relax.TensorType(dtype=c.pick(s.dtypes), ndim=c.pick((2, -1))))
    var = s.param(relax.TupleType(fields), "params")
    s.tuples.append(var)
    return var


def _result(c: Choices, s: Scope) -> relax.Expr:
    """What the function returns: its last value, several of them, a parameter, a constant."""
    values = [v.expr for v in s.values] or [s.tensor(c).expr]
    if s.tuples and c.flag(0.3):
        return c.pick((s.tuples[-1], s.tuples[0]))
    kind = c.below(8)
    if s.has(Trait.TRIVIAL_OUTPUTS):
        if kind == 7 and s.params:
            return c.pick(s.params)
        if kind == 6:
            return s.constant(c, (2,), DEFAULT_DTYPE).expr
        if kind == 5:
            return relax.Tuple([values[-1], values[0], values[-1]])
    if kind in (3, 4):
        fields = [values[-1 - i] for i in range(min(len(values), kind))]
        if s.has(Trait.TUPLES):
            fields += [v.expr for v in s.values if v.shape is None][:1]
        result = relax.Tuple(fields)
        return s.bind(result) if s.has(Trait.TUPLES) and c.flag(0.4) else result
    return values[-1]


def finish(
    c: Choices, s: Scope, result: relax.Expr, attrs: Mapping[str, Any] | None = None
) -> relax.Function:
    """Close the function over its parameters, defining the symbolic variables left open."""
    s.close()
    body = s.module.builder.normalize(relax.SeqExpr(s.blocks, result))
    free = relax.analysis.free_symbolic_vars(relax.Function(s.params, body, body.ty))
    if len(free):
        s.param(relax.ShapeType(list(free)), "s")
    ret = body.ty
    if s.has(Trait.INCOMPLETE_TYPES) and c.flag(0.2):
        ret = _without_shapes(ret)
    function = relax.Function(s.params, body, ret, is_pure=s.pure)
    for key, value in (attrs or {}).items():
        function = function.with_attr(key, value)
    return function


def _without_shapes(ty: relax.Type) -> relax.Type:
    """The type with nothing known of tensors but rank and dtype."""
    if isinstance(ty, relax.TupleType):
        return relax.TupleType([_without_shapes(field) for field in ty.fields])
    if isinstance(ty, relax.TensorType) and ty.ndim >= 0:
        return relax.TensorType(dtype=ty.dtype, ndim=ty.ndim)
    return ty


def recursive(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Functions that count down to 0: one that calls itself, or two that call one another."""
    dims = (c.pick((2, 3)), c.pick((3, 4)))
    types = [relax.TensorType((), "int64"), relax.TensorType(dims, DEFAULT_DTYPE)]
    gvars = [relax.GlobalVar(module.unique("loop")) for _ in range(1 + c.flag())]
    for gvar in gvars:
        relax.expr._update_type(gvar, relax.FuncType(types, types[1]))
    for gvar, following in zip(gvars, gvars[::-1], strict=True):
        module.functions[gvar] = _countdown(c, module, dims, following)
    return gvars


def _countdown(
    c: Choices, module: ModuleScope, dims: tuple[int, ...], following: relax.GlobalVar
) -> relax.Function:
    """An operator, and a call with the next lower count, until that is 0."""
    count = relax.Var("count", relax.TensorType((), "int64"))
    x = relax.Var("x", relax.TensorType(dims, DEFAULT_DTYPE))
    s = Scope(module, dims, (DEFAULT_DTYPE,))
    s.params = [count, x]
    zero, one = relax.const(0, "int64"), relax.const(1, "int64")
    done = s.emit(relax_op.less_equal(count, zero))
    with s.nested() as stop:
        stop.bind(relax_op.nn.relu(x))
        base = stop.emit(x)
        stop.close()
    with s.nested() as step:
        y = step.emit(relax_op.add(x, x))
        less = step.emit(relax_op.subtract(count, one))
        again = step.bind(relax.Call(following, [less.expr, y.expr]))
        step.close()
    result = s.emit(
        relax.If(
            done.expr,
            relax.SeqExpr(stop.blocks, base.expr),
            relax.SeqExpr(step.blocks, again),
        )
    )
    return finish(c, s, result.expr)


def helpers(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Two or three functions of one operator and a constant each, as layers of a model are.

    All have one type, so that calls of them form chains; the first two may differ by the constant
    alone.
    """
    shape = (c.pick((2, 3)), 3)
    step = c.pick(_STEPS)
    made = []
    for number in range(2 + c.below(2)):
        s = Scope(module, shape, (DEFAULT_DTYPE,))
        x = s.param(relax.TensorType(shape, DEFAULT_DTYPE))
        s.dataflow(True)
        weight = s.constant(c, c.pick(((3,), shape, ())), DEFAULT_DTYPE).expr
        y = s.emit((step if number < 2 else c.pick(_STEPS))(x, weight), export=True)
        made.append(finish(c, s, y.expr))
    return [module.add("layer", func) for func in made]


_STEPS: tuple[Callable[[relax.Expr, relax.Expr], relax.Expr], ...] = existing(
    relax_op.add,
    relax_op.multiply,
    relax_op.subtract,
    relax_op.maximum,
)


def tuple_helpers(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A function that returns a tuple of two or three results, and mostly one that takes such."""
    if Trait.TUPLES not in module.traits:
        return []
    shape = (c.pick((2, 3)), 3)
    s = Scope(module, shape, (DEFAULT_DTYPE,))
    x = s.param(relax.TensorType(shape, DEFAULT_DTYPE))
    s.dataflow(True)
    fields = [s.emit(c.pick(_RESULTS)(x), export=True).expr for _ in range(2 + c.below(2))]
    result: relax.Expr = relax.Tuple(fields)
    if c.flag(0.3):
        result = s.bind(result, export=True)
    made = [finish(c, s, result)]
    if c.flag(0.6):
        taker = Scope(module, shape, (DEFAULT_DTYPE,))
        taken = taker.param(relax.TupleType([field.ty for field in fields]))
        first, last = (
            taker.bind(relax.TupleGetItem(taken, at)) for at in (0, c.below(len(fields)))
        )
        made.append(finish(c, taker, c.pick((last, taken, relax.Tuple([last, first])))))
    return [module.add("results", func) for func in made]


_RESULTS: tuple[Callable[[relax.Expr], relax.Expr], ...] = existing(
    relax_op.nn.relu,
    relax_op.negative,
    lambda x: relax_op.sum(x, [0]),
    lambda x: relax_op.multiply(x, x),
    lambda x: relax_op.max(x, [1], True),
)


PATTERNS = ("matmul", "add", "multiply_relu", "conv2d_relu")
BACKENDS = ("cutlass", "dnnl", "tensorrt")


def _some(c: Choices, size: int) -> list[Choices]:
    """Up to two parts of so many bytes, either of which may be left out for itself."""
    return [part for part, wanted in [(c.part(size), c.flag(0.6)) for _ in range(2)] if wanted]


def composites(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Private functions as FuseOpsByPattern leaves them: attribute Composite, a pattern inside."""
    made = [_composite(part, module) for part in _some(c, 3)]
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
    attrs = {"Composite": f"{c.pick(BACKENDS)}.{pattern}", "Primitive": True}
    return finish(c, s, s.values[-1].expr, attrs)


_CONV_BIAS_RELU = parse("nn.relu(add(nn.conv2d(X, W), B))", {})


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


def differentiable(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A function that Gradient takes: one dataflow block, float parameters, a scalar result."""
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    x = s.fresh(Choices(b""), (c.pick((2, 3)), 3), DEFAULT_DTYPE)
    s.dataflow(True)
    for _ in range(1 + c.below(4)):
        step = c.pick(_DIFFERENTIABLE)
        x = s.emit(step(s, x.expr, s.tensor(c, dtype=DEFAULT_DTYPE, shape=x.shape).expr))
    loss = s.emit(c.pick((relax_op.sum, relax_op.mean))(x.expr), export=True)
    return [module.add("loss", finish(c, s, loss.expr), public=True)]


_DIFFERENTIABLE: tuple[Callable[[Scope, relax.Expr, relax.Expr], relax.Expr], ...] = (
    lambda s, x, y: relax_op.add(x, y),
    lambda s, x, y: relax_op.multiply(x, y),
    lambda s, x, y: relax_op.subtract(x, y),
    lambda s, x, y: relax_op.maximum(x, y),
    lambda s, x, y: relax_op.exp(x),
    lambda s, x, y: relax_op.nn.relu(x),
    lambda s, x, y: relax_op.sigmoid(x),
    lambda s, x, y: relax_op.where(s.emit(relax_op.greater(x, y)).expr, x, y),
    lambda s, x, y: relax_op.nn.softmax(x),
    lambda s, x, y: relax_op.cumsum(x, axis=0),
    lambda s, x, y: relax_op.matmul(x, s.fresh(Choices(b""), (3, 3), DEFAULT_DTYPE).expr),
)
"""Steps that keep the type of the first operand, all with a registered gradient."""


def weighted(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Functions of one input and two weights, `num_input` 1.

    All of them agree in their weights, as a shared parameter transformation demands. What is made
    of weights alone may be used, returned or left unused.
    """
    made = [_weighted(part, module) for part in _some(c, 9)]
    return [module.add("model", func, public=True) for func in made]


def _weighted(c: Choices, module: ModuleScope) -> relax.Function:
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    square, row = (3, 3), (3,)
    x = s.param(relax.TensorType((c.pick((2, 3)), 3), DEFAULT_DTYPE))
    w1, w2 = (s.param(relax.TensorType(shape, DEFAULT_DTYPE), "w") for shape in (square, row))
    s.dataflow(True)
    s.exporting = True
    w: relax.Expr = w1
    for _ in range(c.below(3)):
        w = s.emit(c.pick(_WEIGHT_STEPS)(w)).expr
    y = s.emit(relax_op.matmul(x, w)).expr
    if c.flag():
        y = s.emit(relax_op.add(y, s.emit(relax_op.multiply(w2, w2)).expr)).expr
    outputs = [y, *c.subset((w, w1, w2), 0.25)]
    return finish(c, s, relax.Tuple(outputs) if len(outputs) > 1 else y, {"num_input": 1})


_WEIGHT_STEPS: tuple[Callable[[relax.Expr], relax.Expr], ...] = (
    relax_op.permute_dims,
    lambda w: relax_op.add(w, w),
    lambda w: relax_op.multiply(w, relax.const(2.0, DEFAULT_DTYPE)),
    lambda w: w,
)


def transform_params(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A function from a tuple of weights to a tuple of weights, as LiftTransformParams makes."""
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    weights = tuple_param(c, s)
    s.dataflow(True)
    flat = [i for i, ty in enumerate(weights.ty.fields) if isinstance(ty, relax.TensorType)]
    fields = [s.bind(relax.TupleGetItem(weights, i), export=True) for i in flat]
    fields[0] = s.bind(relax_op.permute_dims(fields[0]), export=True)
    result: relax.Expr = relax.Tuple(fields)
    if c.flag(0.7):
        result = s.bind(result, export=True)
    func = finish(c, s, result, {"num_input": 0} if s.has(Trait.NUM_INPUT) else None)
    return [module.add("main_transform_params", func, public=True)]


def entry(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Sometimes a public PrimFunc that no Relax function calls."""
    if not c.flag():
        return []
    kernel = tensorir.prim_func(c.pick(tensorir.TEMPLATES), (c.pick((2, 3)), 4), DEFAULT_DTYPE)
    return [module.add("tir_entry", kernel, public=True)]
