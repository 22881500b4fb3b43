"""Patterns of a few bindings that passes look for and that random operators seldom form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax

from . import tensorir
from .choices import Choices
from .scope import Scope, Value
from .traits import Trait

FLOAT = ("float32", "float16", "float64")


def _static(x: Value) -> list[int]:
    return [d for d in x.shape or () if isinstance(d, int)]


def _matrix(c: Choices, s: Scope, dtype: str | tuple[str, ...] = FLOAT) -> tuple[relax.Expr, str]:
    x = s.tensor(c, dtype=dtype, ndim=2, static=True)
    return x.expr, x.dtype or "float32"


def _columns(x: relax.Expr) -> int:
    return int(x.ty.shape.values[-1])


def _weight(c: Choices, s: Scope, rows: int, dtype: str) -> relax.Expr:
    return s.fresh(c, (rows, c.pick((2, 3, 4))), dtype).expr


def matmul_chain(c: Choices, s: Scope) -> None:
    """(a @ b) @ c, or a @ (b @ c)."""
    a, dtype = _matrix(c, s)
    b = _weight(c, s, _columns(a), dtype)
    d = _weight(c, s, _columns(b), dtype)
    if c.flag():
        s.emit(relax.op.matmul(a, s.emit(relax.op.matmul(b, d)).expr))
    else:
        s.emit(relax.op.matmul(s.emit(relax.op.matmul(a, b)).expr, d))


def parallel_matmul(c: Choices, s: Scope) -> None:
    """Two or three products of one left operand, sometimes with a bias or activation each."""
    a, dtype = _matrix(c, s)
    extra = c.below(3)
    for _ in range(2 + c.below(2)):
        w = _weight(c, s, _columns(a), dtype)
        y = s.emit(relax.op.matmul(a, w)).expr
        if extra >= 1:
            y = s.emit(relax.op.add(y, s.fresh(c, (_columns(w),), dtype).expr)).expr
        if extra == 2:
            s.emit(relax.op.nn.relu(y))


def matmul_of_sum(c: Choices, s: Scope) -> None:
    """x @ (a + b)."""
    x, dtype = _matrix(c, s)
    a = _weight(c, s, _columns(x), dtype)
    b = s.fresh(c, (_columns(x), _columns(a)), dtype).expr
    s.emit(relax.op.matmul(x, s.emit(relax.op.add(a, b)).expr))


def transposed_matmul(c: Choices, s: Scope) -> None:
    """x @ permute_dims(w)."""
    x, dtype = _matrix(c, s)
    w = s.fresh(c, (c.pick((2, 3, 4)), _columns(x)), dtype).expr
    axes = [None, [1, 0], [-1, -2]][c.below(3)]
    s.emit(relax.op.matmul(x, s.emit(relax.op.permute_dims(w, axes)).expr))


def take_after_matmul(c: Choices, s: Scope) -> None:
    """x @ take(w, indices, axis=1)."""
    x, dtype = _matrix(c, s)
    w = _weight(c, s, _columns(x), dtype)
    indices = s.constant(c, (2,), "int64", low=0, high=_columns(w) - 1).expr
    s.emit(relax.op.matmul(x, s.emit(relax.op.take(w, indices, axis=1)).expr))


def reshapes(c: Choices, s: Scope) -> None:
    """Reshape after reshape, or to the shape at hand."""
    # A 0 in the new shape stands for the dim of the old one.
    x = s.tensor(
        c, ndim=(2, 1, 3), static=True, where=lambda v: 0 not in _static(v), fresh_shape=(2, 3)
    )
    shape = _static(x)
    flat = s.emit(relax.op.reshape(x.expr, s.shape_expr(c, [int(np.prod(shape))])))
    s.emit(relax.op.reshape(flat.expr, s.shape_expr(c, c.pick((shape, shape[::-1])))))


def concat_of_transposes(c: Choices, s: Scope) -> None:
    """concat of permute_dims of several tensors."""
    x = s.tensor(c, ndim=(2, 3), static=True)
    y = s.tensor(c, dtype=x.dtype, shape=x.shape)
    axes = list(reversed(range(x.ndim)))
    parts = [s.emit(relax.op.permute_dims(t.expr, axes)).expr for t in (x, y)]
    s.emit(relax.op.concat(parts, axis=c.below(x.ndim)))


def split_and_concat(c: Choices, s: Scope) -> None:
    """split, then concat of the parts."""
    x = s.tensor(c, ndim=(2, 1), static=True, fresh_shape=(4, 2))
    parts = s.bind(relax.op.split(x.expr, 2, axis=0))
    if isinstance(parts.ty, relax.TupleType):
        fields = [s.bind(relax.TupleGetItem(parts, i)) for i in range(len(parts.ty.fields))]
        s.emit(relax.op.concat(fields, axis=0))


def neighbouring_slices(c: Choices, s: Scope) -> None:
    """Slices that lie side by side, put together again or added."""
    x = s.tensor(
        c,
        ndim=(2, 1, 3),
        static=True,
        where=lambda v: v.shape is not None and int(v.shape[0]) >= 2,
        fresh_shape=(4, 3),
    )
    size = _static(x)[0]
    middle = size // 2 if c.flag() else 1
    parts = [
        s.emit(relax.op.strided_slice(x.expr, [0], [low], [high])).expr
        for low, high in ((0, middle), (middle, size))
    ]
    s.emit(relax.op.concat(parts, axis=0))


def permuted_along_an_axis(c: Choices, s: Scope) -> None:
    """permute_dims, and an operator along one axis of the result."""
    x = s.tensor(
        c, dtype=FLOAT, ndim=(2, 3), where=lambda v: 0 not in _static(v), fresh_shape=(2, 3)
    )
    axes = [None, [*range(1, x.ndim), 0]][c.below(2)]
    y = s.emit(relax.op.permute_dims(x.expr, axes)).expr
    axis = c.pick((-1, 0, 1, -2))
    along: tuple[_Step, ...] = (
        lambda v: relax.op.nn.softmax(v, axis),
        lambda v: relax.op.sum(v, [axis]),
        lambda v: relax.op.cumsum(v, axis),
        lambda v: relax.op.max(v, [axis], True),
        lambda v: relax.op.nn.log_softmax(v, axis),
    )
    s.emit(c.pick(along)(y))


def reductions(c: Choices, s: Scope) -> None:
    """A reduction of a reduction."""
    x = s.tensor(
        c, dtype=FLOAT, ndim=(3, 2), where=lambda v: 0 not in _static(v), fresh_shape=(2, 3)
    ).expr
    op = c.pick((relax.op.sum, relax.op.mean, relax.op.max))
    keep = c.flag(0.3)
    for axis in (c.pick((-1, 0)), 0):
        x = s.emit(op(x, [axis], keep)).expr


def view_and_origin(c: Choices, s: Scope) -> None:
    """A fresh value and a view of it, by an alias or a tuple sometimes, both used later."""
    x = s.tensor(
        c,
        dtype=FLOAT,
        ndim=(2, 1, 3),
        static=True,
        where=lambda v: 0 not in _static(v),
        fresh_shape=(2, 3),
    )
    y = s.emit(c.pick(_UNARY)(x.expr))
    view = s.emit(relax.op.reshape(y.expr, [int(np.prod(_static(y)))])).expr
    kind = c.below(3)
    if kind == 1:
        view = s.emit(view).expr
    elif kind == 2:
        both = s.bind(relax.Tuple([view, y.expr]))
        view = s.emit(relax.TupleGetItem(both, 0)).expr
    s.emit(c.pick(_UNARY)(y.expr))
    s.emit(c.pick(_UNARY)(view))


def read_by_other_names(c: Choices, s: Scope) -> None:
    """A fresh value that an operator reads last by its name; an alias or a tuple lives longer."""
    x = s.tensor(c, dtype=FLOAT)
    exporting, s.exporting = s.exporting, False
    y = _elementwise(c, s, x)
    in_tuple = c.flag(0.6)
    held = s.bind(relax.Tuple([y.expr, x.expr]) if in_tuple else y.expr)
    z = _elementwise(c, s, y)
    for _ in range(c.below(3)):
        z = _elementwise(c, s, z)
    other = s.emit(relax.TupleGetItem(held, 0)).expr if in_tuple else held
    s.exporting = exporting
    s.emit(c.pick(_BINARY)(z.expr, other))


def _elementwise(c: Choices, s: Scope, x: Value) -> Value:
    """An operator on one value, or sometimes a kernel, where the module has such calls."""
    if s.has(Trait.CALL_TIR) and x.shape and c.flag(0.4):
        template = c.pick(tensorir.TEMPLATES[:2])
        kernel = tensorir.prim_func(template, x.shape, x.dtype or "")
        gvar = s.module.add(template.name, kernel)
        return s.emit(relax.call_tir(gvar, (x.expr,), x.expr.ty))
    return s.emit(c.pick(_UNARY)(x.expr))


def fields_apart(c: Choices, s: Scope) -> None:
    """A tuple of results whose fields are used one by one, with something between."""
    x = s.tensor(c, dtype=FLOAT).expr
    fields = [s.emit(c.pick(_UNARY)(x)).expr for _ in range(2)]
    both = s.bind(relax.Tuple(fields))
    first = s.emit(relax.TupleGetItem(both, c.below(2))).expr
    between = s.emit(c.pick(_UNARY)(first)).expr
    s.emit(c.pick(_BINARY)(between, s.emit(relax.TupleGetItem(both, 1)).expr))


def conv_bias(c: Choices, s: Scope) -> relax.Expr:
    """conv2d and bias."""
    y, dtype, channels = _conv2d(c, s)
    bias = s.fresh(c, (1, channels, 1, 1), dtype).expr
    return s.emit(relax.op.add(y, bias)).expr


def conv_bias_relu(c: Choices, s: Scope) -> None:
    """conv2d, bias, relu."""
    s.emit(relax.op.nn.relu(conv_bias(c, s)))


def conv_batch_norm(c: Choices, s: Scope) -> None:
    """conv2d, batch_norm, the first field of its result."""
    y, dtype, channels = _conv2d(c, s)
    gamma, beta, mean, var = (_positive(c, s, channels, dtype) for _ in range(4))
    norm = s.bind(relax.op.nn.batch_norm(y, gamma, beta, mean, var, axis=1, training=False))
    out = s.emit(relax.TupleGetItem(norm, 0)).expr
    if c.flag():
        s.emit(relax.op.nn.relu(out))


def _positive(c: Choices, s: Scope, size: int, dtype: str) -> relax.Expr:
    return s.constant(c, (size,), dtype, low=1, high=3).expr


def _conv2d(c: Choices, s: Scope) -> tuple[relax.Expr, str, int]:
    x = s.tensor(
        c,
        dtype=FLOAT,
        ndim=4,
        static=True,
        where=lambda v: v.shape is not None and min(int(d) for d in v.shape) >= 3,
        fresh_shape=(1, 3, 8, 8),
    )
    assert x.shape is not None
    dtype, channels = x.dtype or "float32", c.pick((2, 4))
    shape = (channels, _static(x)[1], c.pick((1, 3)), 1)
    weight = s.constant(c, shape, dtype) if c.flag() else s.fresh(c, shape, dtype)
    return s.emit(relax.op.nn.conv2d(x.expr, weight.expr)).expr, dtype, channels


def reshapes_alike(c: Choices, s: Scope) -> None:
    """Several tensors reshaped by one ShapeExpr node, as queries, keys and values are.

    Some have the shape already.
    """
    shape = (c.pick((2, 3, 4)), c.pick((3, 4)))
    node, dtype = s.shape_expr(c, shape), c.pick(s.dtypes)
    flat, turned = (shape[0] * shape[1],), (1, *reversed(shape))
    for _ in range(2 + c.below(2)):
        x = s.tensor(c, dtype=dtype, shape=c.pick((shape, flat, turned)))
        # relax.op.reshape would copy the node.
        s.emit(relax.Call(_RESHAPE, [x.expr, node]))


_RESHAPE = tvm.ir.Op.get("relax.reshape")


def common_subexpressions(c: Choices, s: Scope) -> None:
    """The same call twice, and their sum."""
    x = s.tensor(c, dtype=FLOAT)
    op = c.pick((relax.op.exp, *_UNARY))
    y, z = (s.emit(op(x.expr)).expr for _ in range(2))
    s.emit(relax.op.add(y, z))


_UNARY: tuple[Callable[[relax.Expr], relax.Expr], ...] = (
    relax.op.nn.relu,
    relax.op.negative,
    relax.op.abs,
    relax.op.square,
    relax.op.sigmoid,
    relax.op.tanh,
    relax.op.floor,
    relax.op.ceil,
)
"""Elementwise operators of any float."""

_BINARY: tuple[Callable[[relax.Expr, relax.Expr], relax.Expr], ...] = (
    relax.op.add,
    relax.op.multiply,
    relax.op.subtract,
    relax.op.maximum,
    relax.op.minimum,
)


def chain(c: Choices, s: Scope) -> None:
    """Two to four elementwise operators, each on the result of the one before."""
    x = s.tensor(c, dtype=FLOAT, complete=True).expr
    first = x
    for _ in range(2 + c.below(3)):
        if c.flag(0.3):
            x = s.emit(c.pick(_BINARY)(x, first)).expr
        else:
            x = s.emit(c.pick(_UNARY)(x)).expr


def there_and_back(c: Choices, s: Scope) -> None:
    """An operator and its inverse, sometimes with another between; the origin stays in use."""
    x = s.tensor(c, dtype=FLOAT, ndim=(2, 3, 1), static=True)
    axes = [*range(1, x.ndim), 0]
    there, back = c.pick(_inverses(x, axes))
    y = s.emit(there(x.expr)).expr
    if c.flag(0.3):
        y = s.emit(c.pick(_UNARY)(y)).expr
    z = s.emit(back(y)).expr
    if c.flag():
        s.emit(c.pick(_BINARY)(z, x.expr))


_Step = Callable[[relax.Expr], relax.Expr]


def _inverses(x: Value, axes: list[int]) -> list[tuple[_Step, _Step]]:
    shape, dtype = _static(x), x.dtype or "float32"
    back = [axes.index(axis) for axis in range(len(axes))]
    pairs: list[tuple[_Step, _Step]] = [
        (relax.op.negative, relax.op.negative),
        (lambda v: relax.op.permute_dims(v, axes), lambda v: relax.op.permute_dims(v, back)),
        (relax.op.permute_dims, relax.op.permute_dims),
        (lambda v: relax.op.expand_dims(v, 0), lambda v: relax.op.squeeze(v, [0])),
        (lambda v: relax.op.flip(v, 0), lambda v: relax.op.flip(v, 0)),
        *(
            (lambda v, d=d: relax.op.astype(v, d), lambda v: relax.op.astype(v, dtype))
            for d in FLOAT
            if d != dtype
        ),
    ]
    if 0 not in shape:
        size = int(np.prod(shape))
        pairs.append((lambda v: relax.op.reshape(v, (size,)), lambda v: relax.op.reshape(v, shape)))
    return pairs


def casts(c: Choices, s: Scope) -> None:
    """Two or three casts of integers, one after another."""
    x = s.tensor(c, dtype=("int32", "int64", "int8", "uint8")).expr
    for _ in range(2 + c.below(2)):
        x = s.emit(relax.op.astype(x, c.pick(("int64", "int32", "int8", "uint8", "float32")))).expr
        if str(x.ty.dtype) == "float32":
            break  # what it holds may be too large for the next type


def scaled(c: Choices, s: Scope) -> None:
    """Arithmetic of one value with scalars, neutral ones among them, twice the same at times."""
    x = s.tensor(c, dtype=("float32", "float16", "float64", "int32", "int64"))
    y, z = x.expr, x.expr
    op = c.pick((relax.op.multiply, relax.op.add, relax.op.multiply, relax.op.subtract))
    scalar = relax.const(c.pick((2, 1, 2, 0, -1)), x.dtype)
    y = s.emit(op(y, scalar)).expr
    if c.flag():
        other = relax.const(c.pick((2, 1, 0, -1)), x.dtype)
        y = s.emit(c.pick(_BINARY)(y, other)).expr
    if c.flag():
        z = s.emit(op(x.expr, scalar)).expr
    s.emit(relax.op.add(y, z))


def bounded(c: Choices, s: Scope) -> None:
    """A maximum and a minimum by scalars, in either order."""
    x = s.tensor(c, dtype=("float32", "float16", "int32"))
    low, high = (relax.const(value, x.dtype) for value in c.pick(((0, 6), (-1, 1), (0, 0))))
    first, second = (relax.op.maximum, low), (relax.op.minimum, high)
    for op, bound in (second, first) if c.flag() else (first, second):
        x = s.emit(op(x.expr, bound))


def filled(c: Choices, s: Scope) -> None:
    """Zeros and ones of one type, as masks are made of."""
    x = s.tensor(c, dtype=("float32", "int32", "float16"), static=True)
    shape, dtype = s.shape_expr(c, _static(x)), x.dtype or "float32"
    makers: tuple[_Step, ...] = (
        lambda v: relax.op.zeros(shape, dtype),
        lambda v: relax.op.ones(shape, dtype),
        relax.op.zeros_like,
        relax.op.ones_like,
    )
    a, b = (s.emit(makers[at + 2 * c.below(2)](x.expr)).expr for at in (0, 1))
    kind = c.below(3)
    if kind == 2:
        s.emit(relax.op.where(s.emit(relax.op.greater(x.expr, a)).expr, b, a))
    else:
        s.emit(relax.op.add(x.expr, s.emit(_BINARY[kind](a, b)).expr))


def constant_expression(c: Choices, s: Scope) -> None:
    """One or two operators over constants only."""
    dtype = c.pick(("float32", "int32", "int8", "float64"))
    a = s.constant(c, (2, 3), dtype).expr
    b = s.constant(c, c.pick(((2, 3), (3,), ())), dtype, low=c.pick((-3, 1))).expr
    folded = s.emit(c.pick(_BINARY)(a, b)).expr
    kind = c.below(5)
    if kind == 1:
        folded = s.emit(relax.op.negative(folded)).expr
    elif kind == 2:
        divisor = s.constant(c, (), dtype, low=2, high=3).expr
        folded = s.emit(relax.op.divide(folded, divisor)).expr
    elif kind == 3:
        folded = s.emit(c.pick(_BINARY)(folded, b)).expr
    elif kind == 4:
        # What does not fit wraps around among integers; of floats, all of it fits.
        to = ("uint8", "int64", "int8") if dtype.startswith("int") else ("float64", "float32")
        s.emit(relax.op.astype(a, c.pick(to)))
    s.emit(relax.op.multiply(folded, s.tensor(c, dtype=dtype, shape=(2, 3)).expr))


def attention_like(c: Choices, s: Scope) -> None:
    """softmax(q @ k^T) @ v."""
    q, dtype = _matrix(c, s)
    k, v = (s.fresh(c, (4, _columns(q)), dtype).expr for _ in range(2))
    scores = s.emit(relax.op.matmul(q, s.emit(relax.op.permute_dims(k)).expr)).expr
    s.emit(relax.op.matmul(s.emit(relax.op.nn.softmax(scores)).expr, v))


def weight_transform(c: Choices, s: Scope) -> None:
    """x @ f(w), f a chain that needs nothing but the weight."""
    x, dtype = _matrix(c, s)
    w = s.fresh(c, (c.pick((2, 3, 4)), _columns(x)), dtype).expr
    if c.flag():
        w = s.emit(relax.op.add(w, w)).expr
    w = s.emit(relax.op.permute_dims(w)).expr
    if c.flag(0.3):
        w = s.emit(relax.op.concat([w, w], axis=1)).expr
    s.emit(relax.op.matmul(x, w))


def layout_transforms(c: Choices, s: Scope) -> None:
    """A layout_transform and its inverse, sometimes with an operator between."""
    x = s.tensor(c, dtype=FLOAT, ndim=2, static=True).expr
    there = s.emit(relax.op.layout_transform(x, lambda i, j: (j, i))).expr
    if c.flag():
        there = s.emit(relax.op.nn.relu(there)).expr
    s.emit(relax.op.layout_transform(there, lambda i, j: (j, i)))


def elementwise_math(c: Choices, s: Scope) -> None:
    """exp, erf, tanh, softmax one after another."""
    x = s.tensor(c, dtype="float32", ndim=(2, 1, 3)).expr
    for op in c.subset((relax.op.exp, relax.op.erf, relax.op.tanh, relax.op.nn.softmax), 0.6):
        x = s.emit(op(x)).expr


def batched_matmul(c: Choices, s: Scope) -> None:
    """Products of rank 3, or with a vector."""
    x = s.tensor(c, dtype=FLOAT, ndim=3, static=True)
    columns = _columns(x.expr)
    shape = c.pick(((columns, 3), (_static(x)[0], columns, 2), (columns,)))
    y = s.fresh(c, shape, x.dtype or "float32").expr
    s.emit(relax.op.matmul(x.expr, y))


def reduced(c: Choices, s: Scope) -> None:
    """Normalisation by hand: x - mean(x), over sqrt(var)."""
    x = s.tensor(c, dtype=FLOAT, ndim=(2, 3))
    mean = s.emit(relax.op.mean(x.expr, axis=-1, keepdims=True)).expr
    centred = s.emit(relax.op.subtract(x.expr, mean)).expr
    var = s.emit(relax.op.variance(x.expr, axis=-1, keepdims=True)).expr
    if c.flag():
        s.emit(relax.op.divide(centred, s.emit(relax.op.sqrt(var)).expr))


IDIOMS: tuple[Callable[[Choices, Scope], None], ...] = (
    chain,
    reshapes,
    common_subexpressions,
    scaled,
    there_and_back,
    casts,
    reshapes_alike,
    filled,
    bounded,
    neighbouring_slices,
    permuted_along_an_axis,
    reductions,
    view_and_origin,
    read_by_other_names,
    fields_apart,
    constant_expression,
    matmul_chain,
    parallel_matmul,
    matmul_of_sum,
    transposed_matmul,
    take_after_matmul,
    concat_of_transposes,
    split_and_concat,
    conv_bias_relu,
    conv_batch_norm,
    attention_like,
    weight_transform,
    layout_transforms,
    elementwise_math,
    batched_matmul,
    reduced,
)
"""All idioms, the simplest first."""
