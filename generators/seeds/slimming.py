"""Pieces of real modules at small sizes: what counts is what they compute, not how much."""

from __future__ import annotations

import math
from collections.abc import Iterator

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

from ...compat.serialization import save_json
from ..rewrite.dims import Resized, sizes_of
from .cutting import cut
from .piece import Piece, main_of

SMALL = 8
"""Sizes up to this one stay."""

NEW = (2, 3, 4, 6, 8, 16)
"""What a larger size may become, the first that the types allow."""

ELEMENTS = 4096
"""Of the largest tensor of a piece."""


def slim(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The piece with small dimensions; None where its types do not allow that.

    Equal sizes stay equal, and what is a multiple of a size stays one, so that what is reshaped or
    split still can be. Sizes up to 8, symbolic dimensions and dtypes stay as they are.
    """
    small = mod
    done: set[int] = set()
    while large := sorted(size for size in sizes_of(small) if size > SMALL and size not in done):
        size = large[0]
        for new in NEW:
            sizes = {
                each: each // size * new for each in sizes_of(small) if each and each % size == 0
            }
            made = Resized(small, sizes=sizes).run() if new < size else None
            if made is not None and relax.analysis.check_well_formed(made):
                small = made
                break
        else:
            done.add(size)
    return small if largest(small) <= ELEMENTS else None


def pieces_of(mod: tvm.IRModule, name: str) -> Iterator[Piece]:
    """The module in small pieces; those whose types allow no small sizes are left out.

    Args:
        name: of the module, for the names of its pieces.
    """
    known: set[int] = set()
    for each in cut(mod):
        digest = int(tvm_ffi.structural_hash(each.mod, map_free_vars=True))
        if digest in known:  # layers of a model are alike
            continue
        known.add(digest)
        small = slim(each.mod)
        if small is not None:
            where = f"{name}, {each.function}, bindings {each.first} to {each.last}"
            digest = int(tvm_ffi.structural_hash(small, map_free_vars=True))
            yield Piece(where, save_json(small), _ops(main_of(small)), f"{digest:016x}")


def _ops(func: relax.Function) -> tuple[str, ...]:
    """The operators of the calls in the body of a function."""
    calls = [b.value for block in func.body.blocks for b in block.bindings]
    ops = [call.op for call in calls if isinstance(call, relax.Call)]
    return tuple(str(op.name).removeprefix("relax.") for op in ops if isinstance(op, Op))


def largest(mod: tvm.IRModule) -> int:
    """The elements of the largest tensor, symbolic dimensions counted as 1."""
    types = [
        var.ty
        for func in mod.functions.values()
        if isinstance(func, relax.Function)
        for var in relax.analysis.all_vars(func)
    ]
    return max(map(_elements, types), default=0)


def _elements(ty: relax.Type) -> int:
    if isinstance(ty, relax.TupleType):
        return max(map(_elements, ty.fields), default=0)
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return 0
    return math.prod(int(d) for d in ty.shape.values if isinstance(d, tirx.IntImm))
