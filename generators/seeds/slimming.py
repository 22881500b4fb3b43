"""Pieces of real modules at small sizes: what counts is what they compute, not how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op

from ...compat.serialization import save_json
from ..rewrite.dims import Resized, sizes_of, symbols
from ..values import elements
from .cutting import cut
from .piece import Piece, bindings_of, main_of

SMALL = 8
"""Sizes up to this one stay."""

NEW = (2, 4, 3, 6, 8, 5, 7, 10, 12, 16)
"""What larger sizes become, in this order."""

FACTORS = (2, 3, 4, 5)
"""What is left of the factor between a size and another one that it is a multiple of."""

ELEMENTS = 4096
"""Of the largest tensor of a piece."""

_PROBES = (11, 13, 17, 19, 23)
"""Numbers for symbolic dimensions: with them, type inference sees whether shapes still agree."""


def slim(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The piece with small dimensions; None where its types do not allow that.

    Equal sizes stay equal, products of sizes stay products, and multiples multiples, so that what
    is reshaped or split still can be. Where all sizes cannot change at once, they change one by
    one. Sizes up to 8, symbolic dimensions and dtypes stay as they are.
    """
    small = mod
    large = sorted(size for size in sizes_of(mod) if size > SMALL)
    if large:
        for sizes in (_together(set(sizes_of(mod))), *_one_by_one(large)):
            made = Resized(small, sizes=sizes).run()
            if made is not None and agrees(made):
                small = made
                if len(sizes) == len(large):
                    break
    return small if largest(small) <= ELEMENTS else None


def _together(sizes: set[int]) -> Mapping[int, int]:
    """A small size for each large one."""
    new = {size: size for size in sizes if size <= SMALL}
    for size in sorted(sizes.difference(new)):
        factors = [a for a in new if a > 1 and size % a == 0]
        pair = next((a for a in sorted(factors, reverse=True) if size // a in new), None)
        if pair is not None:
            found = new[pair] * new[size // pair]
        elif large := [a for a in factors if a > SMALL]:
            multiples = [new[max(large)] * factor for factor in FACTORS]
            found = next((n for n in multiples if n not in new.values()), multiples[0])
        else:
            found = next((n for n in NEW if n not in new.values()), NEW[0])
        new[size] = found
    return {size: small for size, small in new.items() if size > SMALL}


def _one_by_one(large: list[int]) -> Iterator[Mapping[int, int]]:
    for size in large:
        for small in NEW[:5]:
            yield {size: small}


def agrees(mod: tvm.IRModule) -> bool:
    """The module is well-formed, and would be with numbers for symbolic dimensions."""
    if not relax.analysis.check_well_formed(mod):
        return False
    names = symbols(mod)
    if not names:
        return True
    probes = {name: _PROBES[at % len(_PROBES)] for at, name in enumerate(names)}
    fixed = Resized(mod, symbols=probes).run()
    return fixed is not None and bool(relax.analysis.check_well_formed(fixed))


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
            yield Piece(where, save_json(small), _ops(main_of(small)), f"{digest:016x}", name)


def _ops(func: relax.Function) -> tuple[str, ...]:
    """The operators of the calls in the body of a function."""
    calls = [binding.value for binding in bindings_of(func)]
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
    return max(map(elements, types), default=0)
