"""Reductions over dimensions: symbolic, composite, large and special ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tvm
from tvm import relax, tirx

from ...generators.rewrite.dims import Resized, does_nothing, sizes_of, symbols
from ...generators.rewrite.nodes import references
from ...generators.rewrite.rewriter import Rewriter
from ...oracles.inspect import nodes, relax_functions
from .kernels import kernels
from .reduction import Edit

PLAIN = 2
"""Size of a dimension that does not matter: no broadcasting, no empty tensor, little to print."""


def static_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace symbolic dimensions by numbers: all of them, then each. Fewer symbols each time."""
    names = symbols(mod)
    for size in (PLAIN, PLAIN + 1):
        if len(names) > 1:
            yield Resized(mod, symbols=dict.fromkeys(names, size)).run
    for name in names:
        for size in (PLAIN, PLAIN + 1, 1, 0):
            yield Resized(mod, symbols={name: size}).run


def shrink_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Change dimensions of one size everywhere at once, so that types stay consistent.

    Sizes approach 2, then 3, 4 and so on. 1 and 0, which operators treat specially, come after all
    sizes that people write. The `_weight` of some size falls, and of none rises.
    """
    sizes = sorted(sizes_of(mod), key=lambda size: (-_weight(size), size))
    large = [size for size in sizes if size > PLAIN]
    if len(large) > 1:
        yield Resized(mod, sizes=dict.fromkeys(large, PLAIN)).run
        ranks = {size: PLAIN + i for i, size in enumerate(sorted(large))}
        for lift in (0, 1):  # the lift keeps a size apart from an existing 2
            new = {size: rank + lift for size, rank in ranks.items() if size > rank + lift}
            if new:
                yield Resized(mod, sizes=new).run
        halves = {size: size // 2 for size in large if size % 2 == 0}
        if len(halves) > 1:
            yield Resized(mod, sizes=halves).run
    busy = [func.ty for func in kernels(mod).values() if not does_nothing(func)]
    in_kernels = {int(dim.value) for dim in _dims_of(*busy) if isinstance(dim, tirx.IntImm)}
    for size in sizes:
        if size < PLAIN and size in in_kernels:
            continue  # it occurs all over the loops and indices of its PrimFuncs
        for new_size in dict.fromkeys((2, 3, 4, size // 2, 1, 0)):
            if _weight(new_size) < _weight(size):
                yield Resized(mod, sizes={size: new_size}).run


def plain_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """Make dimensions of one parameter plain, regardless of the others: all of them, then each.

    Each edit leaves fewer dimensions of parameters that are neither 2 nor a variable.
    """
    if any(True for _ in _dims_of(*(func.ty for func in kernels(mod).values()))):
        return  # the sizes of their buffers are fixed
    called = {name for _, func in mod.functions_items() for name in references(func)}
    for gvar, func in relax_functions(mod):
        if gvar.name_hint in called:
            continue  # its arguments are known
        for place, param in enumerate(func.params):
            if isinstance(param.ty, relax.TensorType) and isinstance(
                param.ty.shape, relax.ShapeExpr
            ):
                axes = [axis for axis, dim in enumerate(param.ty.shape.values) if _is_special(dim)]
                for run in [axes, *([axis] for axis in axes)] if len(axes) > 1 else [axes]:
                    if run:
                        yield _Plain(mod, str(gvar.name_hint), place, run).run


def _is_special(dim: Any) -> bool:
    return dim.value != PLAIN if isinstance(dim, tirx.IntImm) else not isinstance(dim, tvm.ir.Var)


def _weight(size: int) -> int:
    """The rank of a dimension by plainness: 2, 3, ... 8, then 1 and 0, then larger ones."""
    return {2: 0, 3: 1, 1: 9, 0: 10}.get(size, size if size <= 8 else size + 2)


class _Plain(Rewriter):
    def __init__(self, mod: tvm.IRModule, name: str, place: int, axes: Sequence[int]) -> None:
        super().__init__(mod)
        self._function_name = name
        self._place = place
        self._axes = axes

    def params(self, func: relax.Function) -> list[Any]:
        at = self._place if self.name == self._function_name else None
        return [
            self.defined(param, self._plain(param.ty) if place == at else None)
            for place, param in enumerate(func.params)
        ]

    def _plain(self, ty: relax.TensorType) -> relax.TensorType:
        plain = tirx.IntImm("int64", PLAIN)
        dims = [plain if axis in self._axes else dim for axis, dim in enumerate(ty.shape.values)]
        return relax.TensorType(dims, ty.dtype, ty.vdevice)


def _dims_of(*types: Any) -> Iterator[Any]:
    for ty in types:
        for tensor in nodes(ty, relax.TensorType):
            if isinstance(tensor.shape, relax.ShapeExpr):
                yield from tensor.shape.values
