"""Reductions over dimensions: symbolic ones, composite ones, large and special ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...generators.rewrite.dims import Resized, dims, does_nothing, sizes_of, symbols
from ...generators.rewrite.nodes import references
from ...generators.rewrite.rewriter import Rewriter
from ...oracles.inspect import nodes, relax_functions
from .kernels import kernels
from .reduction import Edit

PLAIN = 2
"""What a dimension is where it does not matter: no broadcasting, nothing empty, little to print."""


def static_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Symbolic dimensions become numbers: all of them, then each. Fewer symbols each time."""
    names = symbols(mod)
    for size in (PLAIN, PLAIN + 1):
        if len(names) > 1:
            yield Resized(mod, symbols=dict.fromkeys(names, size)).run
    for name in names:
        for size in (PLAIN, PLAIN + 1, 1, 0):
            yield Resized(mod, symbols={name: size}).run


def plain_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Composite dimensions such as `n * 4 + 1` become one of their variables, or a number.

    Fewer composite dimensions each time: all of them, then each.
    """
    if any(not isinstance(dim, tirx.IntImm | tvm.ir.Var) for dim in _dims_of_kernels(mod)):
        return  # numbers in place of variables are simpler there
    composite = _composite(mod)
    for chosen in [composite, *([dim] for dim in composite)] if len(composite) > 1 else [composite]:
        if chosen:
            yield Resized(mod, composite=[(dim, _first_var(dim)) for dim in chosen]).run
            yield Resized(mod, composite=[(dim, _int(PLAIN)) for dim in chosen]).run


def shrink_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Dimensions of one size become another, everywhere at once, so that types stay consistent.

    Sizes come nearer to 2, then to 3, 4 and so on; 1 and 0, which operators treat in a way of their
    own, come after all sizes that people write. `_weight` of some size falls, and of none it rises.
    """
    sizes = sorted(sizes_of(mod), key=lambda size: (-_weight(size), size))
    large = [size for size in sizes if size > PLAIN]
    if len(large) > 1:
        yield Resized(mod, sizes=dict.fromkeys(large, PLAIN)).run
        ranks = {size: PLAIN + i for i, size in enumerate(sorted(large))}
        for lift in (0, 1):  # whether or not there is a 2 already that must stay apart
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
            continue  # all over the loops and indices of its PrimFuncs
        for new_size in dict.fromkeys((2, 3, 4, size // 2, 1, 0)):
            if _weight(new_size) < _weight(size):
                yield Resized(mod, sizes={size: new_size}).run


def plain_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """Dimensions of one parameter become plain whatever the others are: all of them, then each.

    Fewer dimensions of parameters are others than 2 and variables.
    """
    if any(True for _ in _dims_of_kernels(mod)):
        return  # the sizes of their buffers are fixed
    called = {name for _, func in mod.functions_items() for name in references(func)}
    for gvar, func in relax_functions(mod):
        if gvar.name_hint in called:
            continue  # what is passed is known
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
    """How far a dimension is from a plain one: 2, 3, ... 8, then 1 and 0, then the larger ones."""
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
        dims = [
            _int(PLAIN) if axis in self._axes else dim for axis, dim in enumerate(ty.shape.values)
        ]
        return relax.TensorType(dims, ty.dtype, ty.vdevice)


def _int(value: int) -> Any:
    return tirx.IntImm("int64", value)


def _first_var(dim: Any) -> Any:
    found: list[Any] = []
    tvm_ffi.structural_walk(dim, (tvm.ir.Var, found.append))
    return found[0] if found else _int(PLAIN)


# What dimensions there are


def _dims_of_kernels(mod: tvm.IRModule) -> Iterator[Any]:
    return _dims_of(*(func.ty for func in kernels(mod).values()))


def _dims_of(*types: Any) -> Iterator[Any]:
    for ty in types:
        for tensor in nodes(ty, relax.TensorType):
            if isinstance(tensor.shape, relax.ShapeExpr):
                yield from tensor.shape.values


def _composite(mod: tvm.IRModule) -> list[Any]:
    found: list[Any] = []
    for dim in dims(mod):
        if not isinstance(dim, tirx.IntImm | tvm.ir.Var) and not any(
            tvm_ffi.structural_equal(dim, other) for other in found
        ):
            found.append(dim)
    return found
