"""Operators that run on the host: the null object, prints and assertions.

Code generation knows these operators; no pass lowers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from .record import ALL, Op

__all__ = ["OPS"]


def _build_print(c: Choices, s: Scope) -> relax.Expr:
    values = [s.tensor(c, dtype=ALL, complete=False).expr for _ in range(c.pick((1, 2)))]
    return relax_op.print(*values, format=c.pick(("", " ".join("{}" for _ in values))))


def _build_assert(c: Choices, s: Scope) -> relax.Expr:
    """An assertion of a true condition: a constant, or a tensor compared with itself."""
    if c.flag():
        x = s.tensor(c, dtype=("int32", "int64"), shape=())
        condition = s.emit(relax_op.equal(x.expr, x.expr)).expr
    else:
        condition = relax.const(True, "bool")
    values = [s.tensor(c, dtype=ALL).expr] if c.flag(0.4) else []
    return relax_op.assert_op(condition, values, format="got {}" if values else "")


def _assert(args: Sequence[Any], attrs: Any) -> tuple[()]:
    if not bool(args[0]):
        raise AssertionError(f"Expected the condition to hold but got {args[0]}")
    return ()


OPS = (
    Op(
        name="null_value",
        build=lambda c, s: relax_op.null_value(),
        reference=lambda args, attrs: None,
        dtypes=ALL,
        legalizes=False,
    ),
    Op(
        name="print",
        build=_build_print,
        reference=lambda args, attrs: (),
        dtypes=ALL,
        legalizes=False,
        pure=False,
        needs=Trait.IMPURE,
    ),
    Op(
        name="assert_op",
        build=_build_assert,
        reference=_assert,
        dtypes=ALL,
        legalizes=False,
        pure=False,
        needs=Trait.IMPURE,
    ),
)
