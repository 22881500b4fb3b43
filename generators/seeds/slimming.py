"""Pieces of real modules at small sizes: their computations matter, not their amount of data."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

from ...compat.serialization import save_json
from ..rewrite.dims import Resized, sizes_of, symbols
from ..values import elements
from .bounds import stays_inside
from .cutting import MOST, cut
from .piece import Piece, bindings_of, main_of

SMALL = 8
"""Sizes up to this one stay."""

NEW = (2, 4, 3, 6, 8, 5, 7, 10, 12, 16)
"""Replacements of larger sizes, in this order."""

FACTORS = (2, 3, 4, 5)
"""Factors to try for the new sizes when one size is a multiple of another."""

TRIES = 2000
"""The most sizes to try until all fit together."""

ELEMENTS = 4096
"""The most elements of the largest tensor of a piece."""

_PROBES = (11, 13, 17, 19, 23)
"""Numbers for symbolic dimensions; with them, type inference checks that shapes still agree."""


def slim(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The piece with small dimensions; None if its types do not allow that.

    Equal sizes, products of sizes and multiples of sizes keep these relations, so that reshapes and
    splits stay possible. If all sizes cannot change at once, they change one by one. Sizes up to 8,
    symbolic dimensions and dtypes stay unchanged. Tensors become empty only if there is no other
    way, as by a slice that begins beyond the new size.
    """
    small = _slimmed(mod, filled=True)
    return _slimmed(mod, filled=False) if small is None else small


def _slimmed(mod: tvm.IRModule, *, filled: bool) -> tvm.IRModule | None:
    small = mod
    large = sorted(size for size in sizes_of(mod) if size > SMALL)
    if large:
        for sizes in (_together(mod), *_one_by_one(large)):
            made = Resized(small, sizes=sizes).run()
            if made is not None and agrees(made) and (not filled or _is_filled(made, mod)):
                small = made
                if len(sizes) == len(large):
                    break
    return small if largest(small) <= ELEMENTS else None


def _is_filled(small: tvm.IRModule, whole: tvm.IRModule) -> bool:
    """False if tensors have become empty, as by a split at indices beyond the new size."""
    return min(sizes_of(small), default=1) > 0 or min(sizes_of(whole), default=1) <= 0


def _together(mod: tvm.IRModule) -> Mapping[int, int]:
    """A small size for each large one; empty if none are found."""
    kept = {size: size for size in sizes_of(mod) if size <= SMALL}
    large = sorted(size for size in sizes_of(mod) if size > SMALL)
    equations = _equations(mod)
    left = TRIES

    def completed(new: dict[int, int], at: int) -> dict[int, int] | None:
        nonlocal left
        if at == len(large):
            return new
        for small in _small(large[at], equations, new):
            left -= 1
            if left < 0:
                break
            tried = new | {large[at]: small}
            if all(_holds(each, tried) for each in equations):
                whole = completed(tried, at + 1)
                if whole is not None:
                    return whole
        return None

    found = completed(kept, 0) or {}
    return {size: small for size, small in found.items() if size > SMALL}


def _small(size: int, equations: Collection[_Equation], new: Mapping[int, int]) -> Iterable[int]:
    """Small sizes for a large one: the solution of the equations, if they have one."""
    return list(_solutions(size, equations, new))[:1] or dict.fromkeys(_candidates(size, new))


def _candidates(size: int, new: Mapping[int, int]) -> Iterator[int]:
    """Small sizes for a large one, given those of smaller ones; the likeliest come first."""
    factors = [a for a in new if a > 1 and size % a == 0]
    for a in sorted(factors, reverse=True):
        if size // a in new and new[a] * new[size // a] < size:
            yield new[a] * new[size // a]
    if multiple_of := [a for a in factors if a > SMALL]:
        multiples = [new[max(multiple_of)] * factor for factor in FACTORS]
        yield from (n for n in multiples if n not in new.values())
        yield multiples[0]
    yield from (n for n in NEW if n not in new.values())
    yield from NEW


_Products = tuple[tuple[int, ...], ...]
"""A sum of products of sizes."""

_Equation = tuple[_Products, _Products]


def _equations(mod: tvm.IRModule) -> set[_Equation]:
    """Equations of the calls that preserve the number of elements: reshapes, concat, split."""
    found: set[_Equation] = set()
    for func in mod.functions.values():
        if not isinstance(func, relax.Function):
            continue
        for binding in bindings_of(func):
            if isinstance(binding.value, relax.Call):
                after = _products(binding.value.ty)
                for arg in binding.value.args:
                    before = _products(arg.ty)
                    if before != after and _sum(before) == _sum(after):
                        found.add((before, after))
    return found


def _products(ty: relax.Type) -> _Products:
    """The elements of a tensor, or of all tensors in a tuple, without symbolic dimensions."""
    if isinstance(ty, relax.TupleType):
        return tuple(product for field in ty.fields for product in _products(field))
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return ()
    return (tuple(sorted(int(d.value) for d in ty.shape.values if isinstance(d, tirx.IntImm))),)


def _sum(products: _Products) -> int:
    return sum(map(math.prod, products))


def _holds(equation: _Equation, new: Mapping[int, int]) -> bool:
    """True if both sides are equal with the new sizes, or some of these are not known yet."""
    if not all(size in new for side in equation for product in side for size in product):
        return True
    one, other = (_sum(tuple(tuple(new[s] for s in p) for p in side)) for side in equation)
    return one == other


def _solutions(
    size: int, equations: Collection[_Equation], new: Mapping[int, int]
) -> Iterator[int]:
    """Values of a size, from equations with no other unknown and one product on its side."""
    for sides in equations:
        for side, other in (sides, sides[::-1]):
            if len(side) == 1 and side[0].count(size) == 1:
                rest = [each for each in side[0] if each != size]
                if all(s in new for s in (*rest, *(s for p in other for s in p))):
                    whole = _sum(tuple(tuple(new[s] for s in p) for p in other))
                    factor = math.prod(new[s] for s in rest)
                    if factor and whole % factor == 0 and whole > factor:
                        yield whole // factor


def _one_by_one(large: list[int]) -> Iterator[Mapping[int, int]]:
    for size in large:
        for small in NEW[:5]:
            yield {size: small}


def agrees(mod: tvm.IRModule) -> bool:
    """True if the module is well-formed, also with numbers for symbolic dimensions, and its
    PrimFuncs stay inside their buffers."""
    if not relax.analysis.check_well_formed(mod):
        return False
    kernels = (func for func in mod.functions.values() if isinstance(func, tirx.PrimFunc))
    if not all(map(stays_inside, kernels)):
        return False
    names = symbols(mod)
    if not names:
        return True
    probes = {name: _PROBES[at % len(_PROBES)] for at, name in enumerate(names)}
    fixed = Resized(mod, symbols=probes).run()
    return fixed is not None and bool(relax.analysis.check_well_formed(fixed))


def pieces_of(mod: tvm.IRModule, name: str, most: int = MOST) -> Iterator[Piece]:
    """The module in small pieces; pieces whose types do not allow small sizes are left out.

    Args:
        name: the name of the module, for the names of its pieces.
        most: the most bindings of a piece.
    """
    known: set[int] = set()
    for each in cut(mod, most):
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
