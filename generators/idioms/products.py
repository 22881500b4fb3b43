"""Matrix products and convolutions with the bindings that passes match around them."""

from __future__ import annotations

from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..ops.operands import ints
from ..ops.record import FLOATS
from ..scope import Scope


def _matrix(c: Choices, s: Scope, dtype: str | tuple[str, ...] = FLOATS) -> tuple[relax.Expr, str]:
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
        s.emit(relax_op.matmul(a, s.emit(relax_op.matmul(b, d)).expr))
    else:
        s.emit(relax_op.matmul(s.emit(relax_op.matmul(a, b)).expr, d))


def parallel_matmul(c: Choices, s: Scope) -> None:
    """Two or three products of one left operand, sometimes with a bias or activation each."""
    a, dtype = _matrix(c, s)
    extra = c.below(3)
    for _ in range(2 + c.below(2)):
        w = _weight(c, s, _columns(a), dtype)
        y = s.emit(relax_op.matmul(a, w)).expr
        if extra >= 1:
            y = s.emit(relax_op.add(y, s.fresh(c, (_columns(w),), dtype).expr)).expr
        if extra == 2:
            s.emit(relax_op.nn.relu(y))


def matmul_of_sum(c: Choices, s: Scope) -> None:
    """x @ (a + b)."""
    x, dtype = _matrix(c, s)
    a = _weight(c, s, _columns(x), dtype)
    b = s.fresh(c, (_columns(x), _columns(a)), dtype).expr
    s.emit(relax_op.matmul(x, s.emit(relax_op.add(a, b)).expr))


def transposed_matmul(c: Choices, s: Scope) -> None:
    """x @ permute_dims(w)."""
    x, dtype = _matrix(c, s)
    w = s.fresh(c, (c.pick((2, 3, 4)), _columns(x)), dtype).expr
    axes = [None, [1, 0], [-1, -2]][c.below(3)]
    s.emit(relax_op.matmul(x, s.emit(relax_op.permute_dims(w, axes)).expr))


def take_after_matmul(c: Choices, s: Scope) -> None:
    """x @ take(w, indices, axis=1)."""
    x, dtype = _matrix(c, s)
    w = _weight(c, s, _columns(x), dtype)
    indices = s.constant(c, (2,), "int64", low=0, high=_columns(w) - 1).expr
    s.emit(relax_op.matmul(x, s.emit(relax_op.take(w, indices, axis=1)).expr))


def conv_bias(c: Choices, s: Scope) -> relax.Expr:
    """conv2d and bias."""
    y, dtype, channels = _conv2d(c, s)
    return s.emit(relax_op.add(y, s.fresh(c, (1, channels, 1, 1), dtype).expr)).expr


def conv_bias_relu(c: Choices, s: Scope) -> None:
    """conv2d, bias, relu."""
    s.emit(relax_op.nn.relu(conv_bias(c, s)))


def conv_batch_norm(c: Choices, s: Scope) -> None:
    """conv2d, batch_norm, the first field of its result."""
    y, dtype, channels = _conv2d(c, s)
    gamma, beta, mean, var = (_positive(c, s, channels, dtype) for _ in range(4))
    norm = s.bind(relax_op.nn.batch_norm(y, gamma, beta, mean, var, axis=1, training=False))
    out = s.emit(relax.TupleGetItem(norm, 0)).expr
    if c.flag():
        s.emit(relax_op.nn.relu(out))


def _positive(c: Choices, s: Scope, size: int, dtype: str) -> relax.Expr:
    return s.constant(c, (size,), dtype, low=1, high=3).expr


def _conv2d(c: Choices, s: Scope) -> tuple[relax.Expr, str, int]:
    x = s.tensor(
        c,
        dtype=FLOATS,
        ndim=4,
        static=True,
        where=lambda v: v.shape is not None and min(int(d) for d in v.shape) >= 3,
        fresh_shape=(1, 3, 8, 8),
    )
    assert x.shape is not None
    dtype, channels = x.dtype or "float32", c.pick((2, 4))
    shape = (channels, ints(x.shape)[1], c.pick((1, 3)), 1)
    weight = s.constant(c, shape, dtype) if c.flag() else s.fresh(c, shape, dtype)
    return s.emit(relax_op.nn.conv2d(x.expr, weight.expr)).expr, dtype, channels


def attention_like(c: Choices, s: Scope) -> None:
    """softmax(q @ k^T) @ v."""
    q, dtype = _matrix(c, s)
    k, v = (s.fresh(c, (4, _columns(q)), dtype).expr for _ in range(2))
    scores = s.emit(relax_op.matmul(q, s.emit(relax_op.permute_dims(k)).expr)).expr
    s.emit(relax_op.matmul(s.emit(relax_op.nn.softmax(scores)).expr, v))


def weight_transform(c: Choices, s: Scope) -> None:
    """x @ f(w), f a chain that needs nothing but the weight."""
    x, dtype = _matrix(c, s)
    w = s.fresh(c, (c.pick((2, 3, 4)), _columns(x)), dtype).expr
    if c.flag():
        w = s.emit(relax_op.add(w, w)).expr
    w = s.emit(relax_op.permute_dims(w)).expr
    if c.flag(0.3):
        w = s.emit(relax_op.concat([w, w], axis=1)).expr
    s.emit(relax_op.matmul(x, w))


def batched_matmul(c: Choices, s: Scope) -> None:
    """Products of rank 3, or with a vector."""
    x = s.tensor(c, dtype=FLOATS, ndim=3, static=True)
    columns = _columns(x.expr)
    shape = c.pick(((columns, 3), (ints(x.shape)[0], columns, 2), (columns,)))
    s.emit(relax_op.matmul(x.expr, s.fresh(c, shape, x.dtype or "float32").expr))
