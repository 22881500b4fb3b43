"""What is in scope while one Relax function is being generated: values, dims, dtypes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvm import relax, tirx

from .choices import Choices

Dim: TypeAlias = "int | tirx.PrimExpr"


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in scope, with its type unpacked (reading it through the FFI again costs more)."""

    expr: relax.Expr
    shape: tuple[Dim, ...] | None
    """None where the shape is not known."""
    dtype: str | None
    """None where the dtype is not known."""
    ndim: int
    """-1 where the rank is not known."""

    @property
    def static(self) -> bool:
        """Every dimension is a known integer."""
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)


class Scope:
    """Values that the function under construction may use; makes fresh ones on demand."""

    def tensor(
        self,
        c: Choices,
        *,
        dtype: str | Collection[str] | None = None,
        ndim: int | Collection[int] | None = None,
        shape: Sequence[Dim] | None = None,
        static: bool = False,
        complete: bool = True,
        where: Callable[[Value], bool] | None = None,
        fresh_shape: Sequence[Dim] | None = None,
    ) -> Value:
        """A tensor that meets all the conditions: one in scope, or a fresh parameter or constant.

        Args:
            dtype: the dtype, or those allowed; None for any.
            ndim: the rank, or those allowed; None for any.
            shape: exactly this shape (symbolic dims compared structurally).
            static: every dimension a known integer.
            complete: shape and dtype known. False also admits incomplete types (rank only,
                unknown rank, unknown dtype) where the trait is on; then `Value.shape` or
                `Value.dtype` may be None.
            where: a further condition on candidates in scope (complete ones).
            fresh_shape: the shape of a fresh tensor where none in scope fits; it must meet
                the conditions. None: a shape of `shape(c, ...)`.
        """
        raise NotImplementedError

    def constant(self, c: Choices, shape: Sequence[int], dtype: str, *, low: int = -3, high: int = 3) -> Value:
        """A constant with small integer values in [low, high], exactly representable."""
        raise NotImplementedError

    def fresh(self, c: Choices, shape: Sequence[Dim], dtype: str) -> Value:
        """A new parameter of the function, or sometimes a constant where the shape is static."""
        raise NotImplementedError

    def shape(self, c: Choices, ndim: int, *, static: bool = False) -> tuple[Dim, ...]:
        """A shape from the function's palette: small dims, sometimes 1, 0 or symbolic."""
        raise NotImplementedError

    def shape_expr(self, c: Choices, dims: Sequence[Dim]) -> relax.ShapeExpr:
        """A ShapeExpr of these dims; where the trait is on, sometimes a node that another function uses too."""
        raise NotImplementedError

    def emit(self, expr: relax.Expr) -> Value:
        """Bind an expression to a variable at the current place (for operands that need a guard)."""
        raise NotImplementedError
