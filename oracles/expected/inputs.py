"""Arguments for a function's parameters, of several kinds; the same seed gives the same arguments.

Most floats are small multiples of 1/8, so their sums and products are exact, and no rounding hides
or causes a difference.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from tvm import relax, tirx
from tvm.ir import PrimType

from ...compat import ir
from ...generators.ops.accepts import Accepted, TensorCondition
from ...generators.values import elements
from ..dtypes import dtype_of, is_short_integer
from ..errors import TooLarge, Unsupported
from ..inspect import nodes
from ..tensorir.values import dtype_of as scalar_of
from ..tensorir.values import lanes_of
from .accepted import NO_RANGES, Path, Ranges, demands
from .recipes import LARGE, MOST, random

SIZES = (2, 3, 4)
"""Values of symbolic dimensions."""


class InputKind(enum.StrEnum):
    """The kind of numbers to draw."""

    WHOLE = "whole numbers"  # in [-3, 3]
    POSITIVE = "positive numbers"  # in [1, 3], for logarithms, divisions and roots
    FRACTION = "fractions"  # floats in (-1, 1), for inverse functions; integers are large
    BOUNDARY = "boundary values"  # 0, 1, -1, extremes of short integers; symbolic sizes are 1
    EMPTY = "empty tensors"  # one symbolic size is 0
    SPECIAL = "special values"  # NaN, infinities, -0.0, extremes among whole numbers
    ENDS = "ends of the dtypes"  # the largest and least integers; floats next to 0
    PRECISION = "integers that floats round"  # those from which on a float has gaps
    NEGATIVE = "negative numbers"  # in [-3, -1], where a padding 0 is the maximum
    DISTANT = "a large mean and a small spread"  # differences and variances cancel out
    OUTSIDE = "indices next to the range"  # for operators that clip them, or count from the end


EXTREMES = (InputKind.ENDS, InputKind.PRECISION)

ORDINARY = frozenset(InputKind) - {*EXTREMES, InputKind.SPECIAL, InputKind.EMPTY}
"""Kinds of arguments that models have."""

TRIES = 8
"""Limit on the draws of extremes; the first draw for which the function is defined is used. In the
first draw all integer tensors are extreme, and in the second draw of `ENDS` all are at one end. In
later draws every second tensor is extreme."""

NEUTRAL = ((1, 0), (0,), (1, -1))
"""Elements of the other tensors in these draws: numbers that hardly change sums or products."""


def drawn(
    func: relax.Function | tirx.PrimFunc,
    kind: InputKind,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    ranges: Ranges = NO_RANGES,
) -> list[Any]:
    """One argument for each parameter; outputs of a PrimFunc are also filled with numbers.

    Operands that need certain values, such as indices, have these, except for `InputKind.OUTSIDE`.

    Args:
        seed: determines the values and the sizes of symbolic dimensions.
        sizes: sizes of symbolic dimensions, by name; the others are drawn.
        ranges: further ranges of parameters, in addition to the demands of their operators.

    Raises:
        Unsupported: a parameter is not a tensor, shape, number or tuple of these.
        TooLarge: the arguments have more than `MOST` elements together.
    """
    params = list(func.params)
    if sum(elements(param.ty) for param in params) > MOST:  # before any number is drawn
        raise TooLarge(f"arguments of more than {MOST} elements")
    drawing = _Drawing(func, kind, seed, sizes or {}, ranges)
    return [drawing.argument(param, place) for place, param in enumerate(params)]


def has_indices(func: relax.Function | tirx.PrimFunc) -> bool:
    """True if a parameter is an index into an axis of an operator."""
    return any(
        accepted.is_index
        for each in demands(func).values()
        for demand in each
        for accepted in demand.accepted(_static)
    )


def counts(func: relax.Function | tirx.PrimFunc) -> list[Any]:
    """The variables that determine the amount of computation."""
    if isinstance(func, relax.Function):
        return list(nodes(func, tirx.Var))
    blocks, names = nodes(func, ir.SBlock), nodes(func, tirx.Var)
    types = [var.ty for var in names if isinstance(var.ty, tirx.BufferType)]
    sizes = [loop.extent for loop in nodes(func, ir.For)]
    sizes += [var.dom.extent for block in blocks for var in block.iter_vars]
    sizes += [dim for ty in types for dim in ty.shape]
    return [var for size in sizes for var in nodes(size, tirx.Var)]


def _static(dim: Any) -> int:
    """The size of a dimension; an arbitrary one if it is symbolic."""
    return int(dim.value) if isinstance(dim, tirx.IntImm) else SIZES[0]


class _Drawing:
    def __init__(
        self,
        func: relax.Function | tirx.PrimFunc,
        kind: InputKind,
        seed: int,
        sizes: Mapping[str, int],
        ranges: Ranges,
    ) -> None:
        self._func = func
        self._kind = kind
        self._sizes = sizes
        self._ranges = ranges
        self._demands = demands(func)
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._integer_tensors = 0
        """Number of integer tensors drawn with extremes."""
        self._dims: dict[tirx.Var, int] = {}
        self._left = MOST
        # A scalar parameter may be a dimension of another parameter.
        self._casts = _casts(func)

    @functools.cached_property
    def _common_dtype(self) -> str:
        """The dtype of all tensors of the function with a known dtype; float32 if they differ."""
        types = (expr.ty for expr in nodes(self._func, relax.Var, *ir.CONSTANTS))
        found = {
            str(ty.dtype)
            for ty in types
            if isinstance(ty, relax.TensorType) and ty.dtype is not None
        }
        return found.pop() if len(found) == 1 else "float32"

    def argument(self, param: relax.Var, place: int) -> Any:
        if isinstance(param.ty, PrimType):
            dtype = dtype_of(str(param.ty.dtype))
            if dtype.kind in "iu":
                return self._number(param, dtype, self._accepted((place,)))
            return self._numbers((), dtype, (place,)).item()
        return self._draw(self._casts.get(param, param.ty), (place,))

    def _accepted(self, path: Path) -> Accepted | None:
        """The values that the parameter, or the field of it, may have; None: any."""
        known = self._ranges.get(path)
        found = [] if known is None else [known]
        for demand in self._demands.get(path, ()):
            found += demand.accepted(self._known_size)
        return functools.reduce(lambda a, b: b.and_(a), found) if found else None

    def _known_size(self, dim: Any) -> int | None:
        """The size of a dimension if the parameters determine it, else None."""
        defined = all(
            var in self._dims or any(var.same_as(other) for other in self._of_types)
            for var in nodes(dim, tirx.Var)
        )
        try:
            return self._size(dim) if defined else None
        except Unsupported:
            return None

    def _draw(self, ty: relax.Type, path: Path) -> Any:
        if isinstance(ty, relax.TupleType):
            return tuple(self._draw(field, (*path, i)) for i, field in enumerate(ty.fields))
        if isinstance(ty, relax.ShapeType):
            if ty.values is None:
                return tuple(self._any_size() for _ in range(max(ty.ndim, 0)))
            return tuple(map(self._extent, ty.values))
        if isinstance(ty, relax.TensorType):
            if isinstance(ty.shape, relax.ShapeExpr):
                shape = tuple(map(self._extent, ty.shape.values))
            else:
                shape = tuple(self._any_size() for _ in range(2 if ty.ndim < 0 else ty.ndim))
            dtype = str(ty.dtype) if ty.dtype is not None else self._common_dtype
            return self._numbers(shape, dtype_of(dtype), path)
        if isinstance(ty, tirx.BufferType):
            shape = tuple(map(self._extent, (*ty.shape, *lanes_of(ty.dtype))))
            return self._numbers(shape, dtype_of(scalar_of(ty)), path)
        if isinstance(ty, relax.AnyType):
            return self._numbers((self._any_size(),), dtype_of("float32"), path)
        raise Unsupported(f"parameter of type {type(ty).__name__}")

    def _number(self, param: relax.Var, dtype: Any, accepted: Accepted | None) -> int:
        """An integer for a parameter; in every second draw it is small enough to be a size."""
        if accepted is not None and accepted.is_index and param not in self._dims:
            low, high = _ends(accepted, dtype)
            self._dims[param] = int(self._rng.integers(low, high + 1))
            return self._dims[param]
        suits = (
            self._kind in (InputKind.WHOLE, InputKind.POSITIVE)
            or self._seed // len(InputKind) % 2 == 1
        )
        if suits or param in self._dims or any(param.same_as(dim) for dim in self._of_types):
            return self._size(param)
        counts = any(param.same_as(each) for each in self._counts)
        info = np.iinfo(dtype)
        few = _numbers_of(self._kind, 8 * dtype.itemsize, counts=counts)
        among = [x for x in few if int(info.min) <= x <= int(info.max)]
        if not among:
            return self._size(param)
        self._dims[param] = among[int(self._rng.integers(len(among)))]
        return self._dims[param]

    @functools.cached_property
    def _of_types(self) -> list[Any]:
        """The variables in the types of the parameters, which are sizes of tensors."""
        return [var for param in self._func.params for var in nodes(param.ty, tirx.Var)]

    @functools.cached_property
    def _counts(self) -> list[Any]:
        return counts(self._func)

    # Sizes

    def _any_size(self) -> int:
        if self._kind is InputKind.BOUNDARY:
            return 1
        return int(self._rng.choice(SIZES))

    def _extent(self, dim: Any) -> int:
        size = self._size(dim)
        if (
            size < 0
        ):  # type inference may give such a shape to a result, and a parameter may have it
            raise Unsupported(f"dimension {dim} is negative")
        return size

    def _size(self, dim: Any) -> int:
        if isinstance(dim, tirx.IntImm):
            return int(dim.value)
        if isinstance(dim, tirx.Var):
            if dim not in self._dims:
                empty = self._kind is InputKind.EMPTY and not self._dims
                given = self._sizes.get(str(dim.name), 0 if empty else None)
                self._dims[dim] = self._any_size() if given is None else given
            return self._dims[dim]
        combine = ARITHMETIC.get(type(dim))
        if combine is None:
            raise Unsupported(f"dimension {type(dim).__name__}")
        a, b = self._size(dim.a), self._size(dim.b)
        if combine in _DIVISIONS and b == 0:
            raise Unsupported(f"dimension {dim} divides by zero")
        return combine(a, b)

    # Numbers

    def _numbers(self, shape: tuple[int, ...], dtype: Any, path: Path) -> Any:
        short = is_short_integer(dtype)
        if short and math.prod(shape) > 1:
            raise Unsupported(f"a parameter of {dtype}, of which a byte holds several")
        self._left -= math.prod(shape)
        if self._left < 0:
            raise TooLarge(f"arguments of more than {MOST} elements")
        if dtype == np.bool_ or short:
            template = "rng.integers(0, 2, shape)"
        else:
            template = self._template(shape, dtype, self._accepted(path))
        return random(template, self._rng, shape, dtype)

    def _template(self, shape: tuple[int, ...], dtype: Any, accepted: Accepted | None) -> str:
        """The expression for accepted random numbers of the kind."""
        whole = dtype.kind in "iu"
        if whole and accepted is not None and accepted.is_index:
            return self._indices(shape, dtype, accepted)
        template = self._integers(dtype) if whole else self._floats(dtype)
        return template if accepted is None else within(template, accepted, shape)

    def _indices(self, shape: tuple[int, ...], dtype: Any, accepted: Accepted) -> str:
        """The expression for indices of the whole range, all equivalent for an operator."""
        low, high = _ends(accepted, dtype)
        distinct = _distinct(accepted, shape)
        match self._kind:
            case InputKind.OUTSIDE:
                info = np.iinfo(dtype)
                near = [end + x for end in (low, high) for x in (-2, -1, 0, 1, 2)]
                near = [x for x in near if int(info.min) <= x <= int(info.max)]
                return f"rng.choice({near}, shape)"
            case _ if distinct:
                return distinct
            case InputKind.BOUNDARY | InputKind.ENDS | InputKind.SPECIAL:
                return f"rng.choice({[low, high]}, shape)"
            case InputKind.NEGATIVE if low < 0:
                high = -1
            case InputKind.POSITIVE if high > 0:
                low = max(low, 0)
        return f"rng.integers({low}, {high + 1}, shape)"

    def _floats(self, dtype: Any) -> str:
        match self._kind:
            case InputKind.FRACTION:
                return "(rng.integers(-7, 8, shape) / 8)"
            case InputKind.BOUNDARY:
                return "rng.integers(-1, 2, shape)"
            case InputKind.POSITIVE:
                return "rng.integers(1, 4, shape)"
            case InputKind.NEGATIVE:
                return "rng.integers(-3, 0, shape)"
            case InputKind.ENDS:
                info = ml_dtypes.finfo(dtype)
                least = [float(info.smallest_subnormal), float(info.tiny), float(info.eps), 0.0, 1]
                return f"rng.choice({[*least, *(-x for x in least)]}, shape)"
            case InputKind.DISTANT:
                digits = ml_dtypes.finfo(dtype).nmant
                mean, unit = 2 ** (digits // 2 - 1), 2.0 ** (digits // 2 - digits + 6)
                return f"({mean} + {unit} * rng.integers(-3, 4, shape))"
            case InputKind.PRECISION:
                # Use one sign: if large numbers cancel out, rounding dominates the result.
                last = 2 ** (ml_dtypes.finfo(dtype).nmant + 1)
                return f"rng.choice({[last, last - 1]}, shape)"
            case InputKind.SPECIAL:
                info = ml_dtypes.finfo(dtype)
                extremes = f"np.nan, np.inf, -np.inf, -0.0, {float(info.max)}, {float(info.tiny)}"
                return f"rng.choice([{extremes}, *range(-3, 4)], shape)"
        return "rng.integers(-3, 4, shape)"

    def _extremes(self, dtype: Any) -> list[int]:
        """Integers at the ends of a dtype, or around the first ones that floats round."""
        self._integer_tensors += 1
        info = np.iinfo(dtype)
        least, most = int(info.min), int(info.max)
        draw = self._seed // len(InputKind)
        if self._kind is InputKind.ENDS and draw == 1:
            return [most, most - 1]  # one sign: differences stay in range, and sums do not
        turn, second = divmod(max(0, draw - (2 if self._kind is InputKind.ENDS else 1)), 2)
        if draw > 0 and self._integer_tensors % 2 == second:
            row = NEUTRAL[-1 if self._kind is InputKind.PRECISION else turn % len(NEUTRAL)]
            return [x for x in row if x >= least]
        if self._kind is InputKind.PRECISION:
            beyond = [2**bits + x for bits in (8, 11, 24, 31, 53) for x in (1, 3)]
            return [x for y in beyond for x in (y, -y) if least <= x <= most] or [most]
        # `NEUTRAL` fills the other tensors of each turn: most sums and products stay in range.
        ends = ((most, most - 1), (least, most), (most, least + 1))
        return [least, most] if draw == 0 else list(ends[turn % len(ends)])

    def _integers(self, dtype: Any) -> str:
        signed = dtype.kind == "i"
        match self._kind:
            case InputKind.POSITIVE:
                return "rng.integers(1, 4, shape)"
            case InputKind.NEGATIVE if signed:
                return "rng.integers(-3, 0, shape)"
            case InputKind.DISTANT:
                return f"({100 if dtype.itemsize == 1 else 1000} + rng.integers(0, 4, shape))"
            case InputKind.FRACTION if dtype.itemsize == 8:
                # Neighbours that float32 cannot tell apart.
                signs = "rng.choice([-1, 1], shape) * " if signed else ""
                return f"({signs}(2**24 + rng.integers(0, 8, shape)))"
            case InputKind.ENDS | InputKind.PRECISION:
                return f'rng.choice(np.array({self._extremes(dtype)}, "{dtype}"), shape)'
            case InputKind.FRACTION:
                return f"rng.integers({-100 if signed else 0}, 101, shape)"
            case InputKind.BOUNDARY | InputKind.SPECIAL:
                few = [-1, 0, 1] if signed else [0, 1]
                if dtype.itemsize <= 2:  # longer ones must not overflow
                    info = np.iinfo(dtype)
                    few += [int(info.min), int(info.max)]
                return f"rng.choice({few}, shape)"
        return f"rng.integers({-3 if signed else 0}, 4, shape)"


def _ends(accepted: Accepted, dtype: Any) -> tuple[int, int]:
    """The least and the largest accepted integer; 0 and 0 for an empty axis."""
    info = np.iinfo(dtype)
    low = max(int(info.min), math.ceil(accepted.low))
    return low, max(low, min(int(info.max), math.floor(accepted.high)))


def _distinct(accepted: Accepted, shape: tuple[int, ...]) -> str | None:
    """The expression for numbers that differ along an axis; None if too few, or not needed."""
    axis = accepted.axis
    if accepted.form is not TensorCondition.DISTINCT or math.prod(shape) > LARGE:
        return None
    if not -len(shape) <= axis < len(shape) or shape[axis] > accepted.high - accepted.low + 1:
        return None
    return f"({int(accepted.low)} + np.argsort(rng.random(shape), axis={axis}))"


def within(template: str, accepted: Accepted, shape: tuple[int, ...]) -> str:
    """The expression, with each unaccepted number replaced by the nearest accepted one.

    Args:
        template: an expression for numbers of any kind.
    """
    small = len(shape) > 0 and math.prod(shape) <= LARGE
    match accepted.form:
        case TensorCondition.NONZERO:
            return f"(lambda x: np.where(x == 0, 1, x))({template})"
        case TensorCondition.DIFFERENT if small:
            size = math.prod(shape)
            return f"(rng.permutation({size}).reshape(shape) - {size // 2})"
        case TensorCondition.INCREASING if small:
            return "np.cumsum(rng.integers(1, 3, shape), -1)"
        case TensorCondition.DISTRIBUTION if small and shape[-1] > 0:
            return "(np.arange(shape[-1]) == rng.integers(0, shape[-1], (*shape[:-1], 1)))"
    ends = [end if math.isfinite(end) else None for end in (accepted.low, accepted.high)]
    return template if ends == [None, None] else f"np.clip({template}, {ends[0]}, {ends[1]})"


def _numbers_of(kind: InputKind, bits: int, *, counts: bool) -> list[int]:
    """Candidates for a parameter that is an integer.

    Args:
        bits: the width of its dtype.
        counts: the parameter may be a number of iterations or elements.
    """
    match kind:
        case InputKind.EMPTY:
            return [0]
        case InputKind.BOUNDARY:
            return [0, 1, -1]
        case InputKind.NEGATIVE:
            return [-1, -2, -3, -9]
        case InputKind.ENDS | InputKind.PRECISION if counts:
            return []
        case InputKind.ENDS:
            return [end + x for end in (-(1 << bits - 1), (1 << bits - 1) - 2) for x in (0, 1)]
        case InputKind.PRECISION:
            powers = [1 << power for power in (8, 11, 16, 24, 30, 31, 53, 62)]
            return [sign * power + x for power in powers for sign in (1, -1) for x in (-1, 0, 1)]
        case InputKind.FRACTION:
            return [5, 6, 7, 9, 10, 12] if counts else [-100, -57, 24, 57, 99, 100]
    return [power + x for power in (4, 8, 16, 32) for x in (-1, 0, 1)]


ARITHMETIC: Mapping[type, Callable[[int, int], int]] = {
    ir.Add: int.__add__,
    ir.Sub: int.__sub__,
    ir.Mul: int.__mul__,
    ir.FloorDiv: int.__floordiv__,
    ir.FloorMod: int.__mod__,
    ir.Min: min,
    ir.Max: max,
}
"""Arithmetic of composite dimensions, by the class of the node."""

_DIVISIONS = (int.__floordiv__, int.__mod__)


def _casts(func: relax.Function | tirx.PrimFunc) -> dict[relax.Var, relax.Type]:
    """The types that the function itself casts its parameters of unknown shape to."""
    unknown = {
        param
        for param in func.params
        if isinstance(param.ty, relax.TensorType) and param.ty.shape is None
    }
    casts: dict[relax.Var, relax.Type] = {}
    if not unknown or not isinstance(func.body, relax.SeqExpr):
        return casts
    for block in func.body.blocks:
        for binding in block.bindings:
            if isinstance(binding, relax.MatchCast) and binding.value in unknown:
                casts.setdefault(binding.value, binding.ty)
    return casts
