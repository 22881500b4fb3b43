"""Functions of weights: for Gradient, and for the passes that transform parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tvm import relax, tirx

from ...compat import availability
from ...compat.ops import relax_op
from ..bindings.kind import finish
from ..choices import Choices
from ..idioms.building import Builder
from ..idioms.groups import GROUPS
from ..idioms.pattern import Pattern, parse, restricted
from ..idioms.patterns import DIFFERENTIABLE
from ..module_scope import ModuleScope
from ..ops import table
from ..scope import DEFAULT_DTYPE, Scope
from ..traits import Trait
from ..values import Dim
from .attributed import bounded
from .general import tuple_param


def differentiable(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A function that Gradient takes: one dataflow block, float parameters, a scalar result."""
    pattern = c.part(28)
    several = c.flag(0.2)  # decided first: later decisions may use up all bytes
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    shape = (c.pick((2, 3)), 3)
    if Trait.TUPLES in module.traits and c.flag(0.3):
        both = s.param(relax.TupleType([relax.TensorType(shape, DEFAULT_DTYPE)] * 2), "params")
        s.dataflow(True)
        x = s.emit(relax.TupleGetItem(both, c.below(2)))
    else:
        x = s.fresh(Choices(b""), shape, DEFAULT_DTYPE)
        s.dataflow(True)
    for _ in range(1 + c.below(4)):
        step = c.pick(_DIFFERENTIABLE)
        x = s.emit(step(s, x.expr, s.tensor(c, dtype=DEFAULT_DTYPE, shape=x.shape).expr))
    if pattern.flag(0.6) and (patterns := _patterns()):
        Builder(pattern, s).emit(pattern.pick(patterns))
        floats = [value for value in s.values if value.dtype == DEFAULT_DTYPE]
        x = floats[-1]
    loss = s.emit(c.pick((relax_op.sum, relax_op.mean))(x.expr), export=True)
    result = loss.expr
    if several:
        other = s.emit(relax_op.negative(x.expr), export=True)
        result = relax.Tuple([loss.expr, other.expr])
    return [module.add("loss", finish(s, result), public=True)]


def _patterns() -> Sequence[Pattern]:
    """The patterns that Gradient accepts: operators on floats, present in the installed TVM."""
    return _known_patterns(frozenset(availability.current().ops))


@functools.cache
def _known_patterns(without: frozenset[str]) -> Sequence[Pattern]:
    ops = [name for name in table if name not in without and name not in _OF_INTEGERS]
    found = (restricted(parse(text, GROUPS), ops) for text in DIFFERENTIABLE)
    return [pattern for pattern in found if pattern is not None]


_OF_INTEGERS = {"take", "nn.nll_loss", "nn.cross_entropy_with_logits"}
"""Operators that may take integer parameters, which Gradient does not accept."""


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
    lambda s, x, y: _field(s, relax.Tuple([x, y]), 0),
    lambda s, x, y: _field(s, _field(s, relax.Tuple([y, relax.Tuple([y, x])]), 1), 1),
    lambda s, x, y: _fields_of_several_tuples(s, x, y),
    lambda s, x, y: _halves_changed(s, relax_op.concat([x, y], 0)),
)
"""Steps that keep the type of the first operand, all with a registered gradient."""


def _field(s: Scope, pair: relax.Expr, at: int) -> relax.Expr:
    return relax.TupleGetItem(pair if isinstance(pair, relax.Var) else s.bind(pair), at)


def _fields_of_several_tuples(s: Scope, x: relax.Expr, y: relax.Expr) -> relax.Expr:
    """A sum of fields of a tuple and of a tuple that contains it twice: their adjoints add up."""
    pair = s.bind(relax.Tuple([x, y]))
    outer = s.bind(s.bind(relax.Tuple([pair, pair])))
    inner = s.bind(relax.TupleGetItem(outer, 1))
    first, second = (s.emit(relax.TupleGetItem(*field)).expr for field in ((inner, 0), (pair, 1)))
    return relax_op.add(first, second)


def _halves_changed(s: Scope, both: relax.Expr) -> relax.Expr:
    """The difference of two halves: each field of a tuple has an adjoint."""
    halves = s.bind(relax_op.split(s.emit(both).expr, 2, 0))
    first, second = (s.emit(relax.TupleGetItem(halves, at)).expr for at in (0, 1))
    return relax_op.subtract(first, second)


def weighted(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Functions of one input and two weights, `num_input` 1.

    All of them have the same weights, as a shared parameter transformation demands. Values computed
    from weights alone may be used, returned or left unused.
    """
    parts = c.some(13)
    made = [_weighted(part, module, alone=len(parts) == 1) for part in parts]
    return [module.add("model", func, public=True) for func in made]


def _weighted(c: Choices, module: ModuleScope, *, alone: bool) -> relax.Function:
    """One of these functions; if `alone`, a dim of its weights may be symbolic."""
    s = Scope(module, (2, 3), (DEFAULT_DTYPE,))
    bounds = c.part(4)
    rows: list[Dim] = [2, 3]
    columns: list[Dim] = [3]
    if s.has(Trait.BOUNDED_DIMS):
        rows += [tirx.Var("n", "int64")] * 2
        columns += [tirx.Var("m", "int64")] * alone
    x = s.param(relax.TensorType((c.pick(rows), 3), DEFAULT_DTYPE))
    width = c.pick(columns)
    shapes = (3, width), (width,)
    w1, w2 = (s.param(relax.TensorType(shape, DEFAULT_DTYPE), "w") for shape in shapes)
    s.dataflow(True)
    s.exporting = True
    w: relax.Expr = w1
    for _ in range(c.below(3)):
        w = s.emit(c.pick(_WEIGHT_STEPS[0 if width == 3 else 1 :])(w)).expr
    y = s.emit(relax_op.matmul(x, w)).expr
    if c.flag():
        y = s.emit(relax_op.add(y, s.emit(relax_op.multiply(w2, w2)).expr)).expr
    outputs = [y, *c.subset((w, w1, w2), 0.25)]
    func = finish(s, relax.Tuple(outputs) if len(outputs) > 1 else y, {"num_input": 1})
    return bounded(bounds, func) if s.has(Trait.BOUNDED_DIMS) else func


_WEIGHT_STEPS: tuple[Callable[[relax.Expr], relax.Expr], ...] = (
    relax_op.permute_dims,  # for square weights only
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
    func = finish(s, result, {"num_input": 0} if s.has(Trait.NUM_INPUT) else None)
    return [module.add("main_transform_params", func, public=True)]
