"""What bindings use, and what is needed for a result."""

from __future__ import annotations

from typing import Any

from tvm import relax

from ...generators.rewrite.nodes import used_vars
from ...generators.rewrite.scopes import Scope, scopes_of, sites_of


def dimensions(ty: Any) -> list[Any]:
    """The symbolic dimensions in a type."""
    return list(relax.analysis.tir_vars_in_type(ty))


def matched(pattern: Any, ty: Any) -> dict[int, Any]:
    """The dimensions of a type that those of another, symbolic ones, stand for."""
    if isinstance(pattern, relax.TupleType) and isinstance(ty, relax.TupleType):
        fields = zip(pattern.fields, ty.fields, strict=False)
        return {key: dim for pair in fields for key, dim in matched(*pair).items()}
    symbols, dims = shape(pattern), shape(ty)
    if len(symbols) != len(dims):
        return {}
    pairs = zip(symbols, dims, strict=True)
    return {hash(symbol): dim for symbol, dim in pairs if isinstance(symbol, relax.Var)}


def shape(ty: Any) -> list[Any]:
    """The dimensions of a tensor or shape; none where the type says nothing of them."""
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        return list(ty.shape.values)
    if isinstance(ty, relax.ShapeType) and ty.values is not None:
        return list(ty.values)
    return []


def dead(func: relax.Function) -> set[int]:
    """The variables that the result of the function does not depend on."""
    body = scopes_of(func)[0]
    needed = needed_for(body, used_vars([body.seq.body]))
    return {site.key for site in sites_of(func)} - needed


def needed_for(scope: Scope, roots: set[int]) -> set[int]:
    """The variables of a sequence, and of those inside it, that these depend on, and themselves.

    A cast that defines a dimension is needed where the dimension is.
    """
    needed = set(roots)
    _need(scope, needed, {hash(dim) for param in scope.params for dim in dimensions(param.ty)})
    return needed


def _need(scope: Scope, needed: set[int], own: set[int]) -> None:
    for site in reversed(scope.sites):
        binding = site.binding
        defines = isinstance(binding, relax.MatchCast) and not needed.isdisjoint(
            {hash(dim) for dim in dimensions(binding.ty)} - own
        )
        if site.key in needed or defines:
            needed |= {site.key, *map(hash, dimensions(site.var.ty))} | site.operands
            for inner in site.inner:
                needed |= used_vars([inner.seq.body])
                _need(inner, needed, own)
