"""What the drafts share: a file of the user's that their code refers to."""

from __future__ import annotations

from tvm import relax

ROUNDING = ("relax.floor", "relax.ceil")

UNUSED = ("relax.erf",)


def op_of(expr: relax.Expr) -> str:
    """The name of the operator, or the empty string."""
    return str(getattr(getattr(expr, "op", None), "name", ""))


def is_log(expr: relax.Expr) -> bool:
    return op_of(expr) == "relax.log"
