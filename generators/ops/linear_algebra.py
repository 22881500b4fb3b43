"""Products of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import undefined
from .operands import positive, quiet, single
from .record import BRAIN, FLOATS, INTEGERS, Op

__all__ = ["OPS"]

DTYPES = (*FLOATS, *INTEGERS, *BRAIN)


def _build_matmul(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=DTYPES, ndim=(2, 3, 4, 1), complete=False)
    if x.dtype is None:
        x = s.tensor(c, dtype=DTYPES, ndim=(2, 3, 4, 1))
    out_dtype = _out_dtype(c, x)
    if x.shape is None:
        # Too little is known to fit another operand, but x times its transpose works.
        if x.ndim >= 2:
            turned = s.emit(relax_op.permute_dims(x.expr, _swapped(x.ndim)))
            return relax_op.matmul(x.expr, turned.expr, out_dtype)
        x = s.tensor(c, dtype=DTYPES, ndim=(2, 3, 4, 1))
        out_dtype = _out_dtype(c, x)
    assert x.shape is not None
    k = x.shape[-1]
    matrix = (k, *s.shape(c, 1))
    # Products with vectors are rare: otherwise chains of products would soon have only vectors.
    shape: tuple[Dim, ...] = c.pick(
        (matrix, (*x.shape[:-2], *matrix), matrix, matrix, (k,), (1, *matrix))
    )
    return relax_op.matmul(x.expr, s.tensor(c, dtype=x.dtype, shape=shape).expr, out_dtype)


def _swapped(ndim: int) -> list[int]:
    return [*range(ndim - 2), ndim - 1, ndim - 2]


def _out_dtype(c: Choices, x: Value) -> str | None:
    wider = {"float16": "float32", "float32": "float64", "int8": "int32", "int32": "int64"}
    return wider.get(x.dtype or "") if c.flag(0.2) else None


def _matmul(args: Sequence[Any], attrs: Any) -> Any:
    x, y = args
    dtype = x.dtype if attrs.out_dtype is None else np.dtype(str(attrs.out_dtype))
    if dtype.kind in "iu":
        return np.matmul(x.astype(dtype), y.astype(dtype))
    return np.asarray(np.matmul(single(x).astype(np.float64), single(y))).astype(dtype)


EINSUM_DTYPES = ("float32", "float64", "int32", "float16", "int64", "int8")
EINSUMS = (
    ("ij,jk->ik", ("ij", "jk")),
    ("ij,ij->ij", ("ij", "ij")),
    ("ij->ji", ("ij",)),
    ("ij->i", ("ij",)),
    ("i,j->ij", ("i", "j")),
    ("bij,bjk->bik", ("bij", "bjk")),
    ("ij,jk,kl->il", ("ij", "jk", "kl")),
)


def _build_einsum(c: Choices, s: Scope) -> relax.Expr:
    subscripts, operands = c.pick(EINSUMS)
    if c.flag(0.3):
        inputs, _, result = subscripts.partition("->")
        subscripts = f"{inputs}->{result[::-1]}"
    dtype = c.pick(EINSUM_DTYPES)
    letters = sorted(set("".join(operands)))
    # TVM's TensorIR does not write the result of an empty sum, hence no zeros.
    dims = dict(zip(letters, positive(s.shape(c, len(letters), static=True)), strict=True))
    tensors = [s.tensor(c, dtype=dtype, shape=[dims[i] for i in one]).expr for one in operands]
    return relax_op.einsum(tensors, subscripts)


def _einsum(args: Sequence[Any], attrs: Any) -> Any:
    subscripts = str(attrs.subscripts)
    extents: dict[str, int] = {}
    for labels, tensor in zip(subscripts.partition("->")[0].split(","), args[0], strict=True):
        for label, extent in zip(labels.strip(), tensor.shape, strict=False):
            # NumPy repeats a dimension of 1; no document of TVM promises that.
            if label != "." and extents.setdefault(label, extent) != extent:
                raise ValueError(f"{label} is {extents[label]} and {extent}")
    return np.asarray(np.einsum(subscripts, *map(single, args[0]))).astype(args[0][0].dtype)


def _build_outer(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=DTYPES, ndim=1)
    return relax_op.outer(x.expr, s.tensor(c, dtype=x.dtype, ndim=1).expr)


OPS = (
    Op(
        name="matmul",
        build=_build_matmul,
        reference=quiet(_matmul),
        dtypes=DTYPES,
        nonfinite=True,
        undefined=undefined.accumulation,
        arithmetic=(0, 1),
    ),
    Op(
        name="einsum",
        build=_build_einsum,
        reference=_einsum,
        dtypes=EINSUM_DTYPES,
        undefined=undefined.average,
        arithmetic=(0,),
    ),
    Op(
        name="outer",
        build=_build_outer,
        reference=quiet(lambda args, attrs: np.outer(args[0], args[1]).astype(args[0].dtype)),
        dtypes=DTYPES,
        nonfinite=True,
        undefined=undefined.two_dtypes,
        arithmetic=(0, 1),
    ),
)
