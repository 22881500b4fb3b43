"""What stands for a value that is dropped, where it is still used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from ...generators.rewrite.scopes import Site
from .dropping import Dropping
from .needs import shape

LARGEST_CONSTANT = 64
"""Elements; a larger constant is no smaller than what it stands for."""


def operand(dropping: Dropping, site: Site) -> Any:
    """What it was made from: that keeps the chain of values."""
    return next((v for v in _sources(dropping, site) if dropping.fits(v, site)), None)


def existing(dropping: Dropping, site: Site) -> Any:
    """A parameter, or else an earlier value."""
    candidates = [*site.params(), *(b.var for b in site.before())]
    return next((v for v in candidates if dropping.fits(v, site)), None)


def parameter(dropping: Dropping, site: Site) -> Any:
    """A new parameter."""
    if isinstance(site.var.ty, relax.FuncType):
        return None
    new = relax.Var(site.var.name, dropping.type_of_param(site.var.ty))
    dropping.new_params.append(new)
    return new


def retyped(dropping: Dropping, site: Site) -> Any:
    """What it was made from, though of another type: what follows gets other types too."""
    tensor = isinstance(site.var.ty, relax.TensorType)
    same = [
        v
        for v in _sources(dropping, site)
        if hash(v) not in dropping.gone and isinstance(v.ty, relax.TensorType) == tensor
    ]
    return same[0] if same else None


def constant(dropping: Dropping, site: Site) -> Any:
    """A small constant."""
    return small_constant(site.var.ty)


def small_constant(ty: Any) -> Any:
    """Ones (zeros as integers, that are indices too), where the type says all and it is small."""
    if isinstance(ty, relax.TupleType):
        fields = [small_constant(field) for field in ty.fields]
        if any(field is None for field in fields):
            return None
        return relax.BlockBuilder().normalize(relax.Tuple(fields))
    if not isinstance(ty, relax.TensorType) or ty.dtype is None or ty.vdevice is not None:
        return None
    dims = shape(ty)
    if not isinstance(ty.shape, relax.ShapeExpr) or not all(
        isinstance(dim, tvm.tirx.IntImm) for dim in dims
    ):
        return None
    extents = [int(dim) for dim in dims]
    if not 0 < np.prod(extents) <= LARGEST_CONSTANT:
        return None  # TVM cannot read back a constant without elements
    dtype = str(ty.dtype)
    make = np.zeros if "int" in dtype else np.ones
    return relax.const(make(extents), dtype)


def _sources(dropping: Dropping, site: Site) -> Iterator[Any]:
    """The operands, and those of operands that are dropped too."""
    todo, seen = [site], {site.key}
    while todo:
        for var in _variables(todo.pop(0).binding.value):
            if hash(var) in seen:
                continue
            seen.add(hash(var))
            yield var
            if hash(var) in dropping.gone:
                todo.append(dropping.sites[hash(var)])


def _variables(value: Any) -> list[Any]:
    if isinstance(value, relax.If | relax.Function):
        return []
    found: list[Any] = []
    tvm_ffi.structural_walk(value, (tvm.ir.Var, found.append))
    return [var for var in found if not isinstance(var.ty, tvm.ir.PrimType | relax.FuncType)]
