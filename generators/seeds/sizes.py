"""One size of a piece turned into another one that passes treat in its own way."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...compat import ir
from ...compat.serialization import save_json
from ..rewrite.dims import Resized, sizes_of
from ..rewrite.nodes import (
    defining,
    free_symbolic_vars,
    is_symbolic,
    rebuilt,
    substitute,
    variables,
    with_functions,
    with_parts,
)
from .piece import Piece
from .slimming import agrees

LEAST = 2
"""The smallest size that is changed."""

NAME = "size"
"""Of the symbolic dimension that takes the place of a size."""


TRIES = 3
"""Sizes that are tried until one can change."""


def resized(piece: Piece, which: int, new: int | None) -> tuple[Piece, str] | None:
    """The piece with one of its sizes changed wherever it occurs, in the PrimFuncs it calls too.

    Multiples of the size change with it, so that what is reshaped still can be; or they stay,
    where only that is well-formed.

    Args:
        which: stands for the size; where types or kernels do not allow that, the next ones are
            tried.
        new: another number; None for a new symbolic dimension.

    Returns:
        The piece and the edit in words; None where no size that was tried can change.
    """
    sizes = changeable(piece)
    first = which % max(1, len(sizes))
    tried = (with_size(piece, old, new) for old in (*sizes[first:], *sizes[:first])[:TRIES])
    return next((found for found in tried if found is not None), None)


@functools.lru_cache(maxsize=64)  # the pieces of a block come again in many of its modules
def changeable(piece: Piece) -> tuple[int, ...]:
    """The sizes that may change, in order."""
    return tuple(sorted(size for size in sizes_of(piece.load()) if size >= LEAST))


@functools.lru_cache(maxsize=256)
def with_size(piece: Piece, old: int, new: int | None) -> tuple[Piece, str] | None:
    """The same for one size."""
    mod, sizes = piece.load(), changeable(piece)
    if any(_is_bound(func, old, symbolic=new is None) for func in mod.functions.values()):
        return None
    if new == 0 and any(old in shape for shape in _constants(mod)):
        return None  # TVM cannot load such a constant from JSON
    unit = tirx.Var(NAME, "int64") if new is None else new
    multiples = {size: unit * (size // old) for size in sizes if size % old == 0}
    for changed in dict.fromkeys((len(multiples), 1)):
        made = _with_sizes(mod, dict(list(multiples.items())[:changed]))
        if made is not None:
            edit = f"{old} becomes {'symbolic' if new is None else new}"
            return dataclasses.replace(piece, text=save_json(made)), edit
    return None


def _is_bound(func: tvm.ir.BaseFunc, size: int, *, symbolic: bool) -> bool:
    """A PrimFunc has the size, and needs it.

    It has a divisor of it, too, of which loops may be tiles; or counts in int32, which a symbolic
    dimension is not.
    """
    if not isinstance(func, tirx.PrimFunc):
        return False
    numbers: set[tuple[int, str]] = set()
    tvm_ffi.structural_walk(
        func, (tirx.IntImm, lambda each: numbers.add((int(each.value), str(each.ty.dtype))))
    )
    if not any(number == size for number, _ in numbers):
        return False
    tiles = any(LEAST <= number < size and size % number == 0 for number, _ in numbers)
    return tiles or (symbolic and (size, "int32") in numbers)


def _constants(mod: tvm.IRModule) -> Iterator[list[int]]:
    """The shapes of the constant tensors."""
    found: list[Any] = []
    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            tvm_ffi.structural_walk(func, (ir.GenericConst, found.append))
    for const in found:
        if isinstance(const.ty, relax.TensorType):
            yield [int(dim) for dim in ir.constant_data(const).shape]


def _with_sizes(mod: tvm.IRModule, sizes: Mapping[int, Any]) -> tvm.IRModule | None:
    made = Resized(mod, sizes=sizes).run()
    if made is None:
        return None
    apart = {gvar: _apart(func) for gvar, func in made.functions_items()}
    made = with_functions(made, apart)
    return made if agrees(made) else None


def _apart(func: tvm.ir.BaseFunc) -> tvm.ir.BaseFunc:
    """With a variable of its own for the size, which its parameters define."""
    found = {var for var in variables(func) if is_symbolic(var) and var.name == NAME}
    if not found:
        return func
    func = substitute(func, {var: tirx.Var(NAME, "int64") for var in found})
    if isinstance(func, tirx.PrimFunc):
        return rebuilt(func)  # by its constructor, which derives its type
    left = free_symbolic_vars(func)
    return with_parts(func, params=[*func.params, *defining(left)]) if left else func
