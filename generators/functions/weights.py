"""Functions of weights: for Gradient, and for the passes that transform parameters."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import DEFAULT_DTYPE, ModuleScope, Scope
from ..traits import Trait
from .general import finish, tuple_param


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
    made = [_weighted(part, module) for part in c.some(9)]
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
