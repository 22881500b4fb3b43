"""The record of one Relax operator: its calls, and a reference for its results."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from .accepts import Accepted, Place
from .accepts import AcceptRule as Accepts
from .laws import Law
from .undefined import Behaviour, arrays, is_float, overflowed
from .undefined import UndefinedRule as Undefined
from .variation import BYTES, Variations, varied

EVERYWHERE = (-math.inf, math.inf)
"""The domain of an operator that is defined for all numbers."""

FLOATS = ("float32", "float16", "float64")
WIDE = ("float32", "float64")
"""Dtypes of operators whose LLVM intrinsic has no float16 version."""
SIGNED = ("int32", "int64", "int8", "int16")
INTEGERS = (*SIGNED, "uint8")
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, "bool")
BRAIN = ("bfloat16",)
"""Another dtype, for operators that TVM's legalization of bfloat16 handles. Dtype palettes omit it,
so tensors of this dtype mostly come from a conversion."""

Build = Callable[[Choices, Scope], relax.Expr]
"""Choose operands (from the scope, or fresh) and attributes, and return the call, not bound yet.

It must always succeed: `Scope.tensor` makes a fresh parameter or constant if nothing in scope
fits. It includes guards against undefined behaviour (a divisor that may be 0).
"""

Reference = Callable[[Sequence[Any], Any], Any]
"""`reference(args, attrs)` in NumPy.

args: the call's operands, evaluated: tensors as ndarrays, tuples as Python tuples, shapes as tuples
of int, primitive values as int or float, absent optional operands as None. attrs: the call's
`attrs` node (None where the operator has none). Returns an ndarray, or a tuple of them, with the
dtype and shape that TVM infers.
"""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Bounds on |actual - expected| <= absolute + relative * |expected|, by result dtype."""

    float16: float = 2e-2
    float32: float = 1e-3
    float64: float = 1e-6
    reason: str = "sums and transcendental functions are evaluated in another order or precision"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Op:
    """Everything relaxfuzz knows of one operator; adding an operator touches only its record."""

    name: str
    """Registered name without the leading `relax.`, e.g. "nn.conv2d"."""

    build: Build
    reference: Reference

    dtypes: tuple[str, ...]
    """Dtypes that `build` may give to the data operands.

    Calls on other kinds of numbers (floats, signed and unsigned integers, bool) are rare, and need
    type inference's consent. Their result counts as undefined, but they must build and run.
    """

    kinds: str = ""
    """NumPy's letters for further kinds of numbers ("u", "b") for which the reference holds."""

    domain: tuple[float, float] = EVERYWHERE
    """Operand values on which TVM and the reference agree by definition (`tan`: between poles)."""

    tolerance: Tolerance = Tolerance()

    nonfinite: bool = False
    """The reference also holds for NaN and infinities among the operands.

    True for IEEE 754 arithmetic and for operators that only move elements, if generated code
    agrees. False where the documentation leaves it open (a maximum, a sort, an activation).
    """

    masks: bool = False
    """The reference also holds for minus infinity among the operands, as in masks, whose
    exponential is 0, provided the result is finite."""

    undefined: Undefined | None = None
    """Rule for further operands with an undefined result; see `undefined.py`."""

    accepts: Accepts | None = None
    """The values that operands are meant to have, indices for example; see `accepts.py`."""

    moves: tuple[int, ...] = ()
    """The operands whose elements all occur in the result, perhaps in another dtype.

    An operator that selects some elements, as `where` does, may guard the operator that uses it.
    """

    arithmetic: tuple[int, ...] = ()
    """The operands that the operator adds or multiplies: 32- and 64-bit integers may overflow."""

    elementwise: bool = False
    """Each element of the result is computed from the elements at its place in the operands."""

    interchangeable: bool = False
    """The operator is not elementwise, but any other that gives a tensor or a shape could replace
    it, so it is not an ingredient of a bug."""

    views: bool = False
    """The result shares the operand's memory at run time; other operators allocate their own."""

    without_gradient: tuple[int, ...] = ()
    """The float operands for which TVM documents that there is no gradient."""

    laws: tuple[Law, ...] = ()
    """Relations between its results, undefined ones included; see `laws.py`."""

    legalizes: bool = True
    """False if the operator has no FLegalize."""

    lowered_by: str | None = None
    """The pass, other than LegalizeOps, that lowers the operator by its name.

    If the default pipeline has that pass, the oracle lowering-complete leaves these calls to it.
    """
    pure: bool = True

    needs: Trait | None = None
    """The trait of modules that may contain the operator; None: all modules may."""

    executes: bool = True
    """False if no CPU build of the operator is expected to run."""

    numbers: bool = False
    """Numbers may replace its tensors: one operand a tensor, another a `relax.PrimValue`."""

    deadly: tuple[Variations, ...] = ()
    """Kinds of variations that kill the process in type inference: no exception, no module."""

    def __repr__(self) -> str:
        return f"Op({self.name!r})"  # Hypothesis prints all operators of a strategy that fails

    def call(self, c: Choices, s: Scope) -> relax.Expr:
        """A call by `build`, or rarely a variation of it that type inference accepts too."""
        rarely = c.part(BYTES)
        return varied(rarely, s, self.build(c, s), self.deadly)

    @property
    def accepts_all(self) -> bool:
        """True if the operands may have any values."""
        return self.accepts is None and self.domain == EVERYWHERE

    def accepted(self, shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
        """The range and conditions of each restricted operand, given the operands' shapes."""
        found: dict[Place, Accepted] = {}
        if self.domain != EVERYWHERE:
            found = {(place,): Accepted(*self.domain) for place in range(len(shapes))}
        if self.accepts is not None:
            with contextlib.suppress(IndexError, TypeError, ValueError):
                found |= self.accepts(shapes, attrs)
        return found

    def undefined_for(
        self, args: Sequence[Any], result: Any, attrs: Any = None, *, wraps: bool = False
    ) -> Behaviour | None:
        """The reason why the result for these operands is undefined; None if it is defined.

        Args:
            args: the operands, as for the reference.
            result: the reference's result for them.
            attrs: the call's attributes; None: undefined for some attributes is undefined.
            wraps: sums and products of integers wrap around, as they do when they run.
        """
        tensors = arrays(args)
        known = _kinds(self.dtypes).union(self.kinds)
        if tensors and _kind(tensors[0].dtype) not in known:
            return Behaviour.KIND
        found = self.undefined is not None and self.undefined(args, attrs, result)
        if found:
            return found if isinstance(found, Behaviour) else Behaviour.OPEN
        everywhere = self.domain == EVERYWHERE
        for tensor in () if everywhere and self.nonfinite else filter(is_float, tensors):
            is_finite = np.isfinite(tensor)
            odd = not self.nonfinite and not is_finite.all()
            if odd and not (self.masks and _is_masked(tensor, result)):
                return Behaviour.OPEN
            if not everywhere and not _is_within(tensor[is_finite], *self.domain):
                return Behaviour.OPEN
        if not wraps and overflowed(self.reference, self.arithmetic, args, attrs, result):
            return Behaviour.OVERFLOW
        return None


def _is_within(numbers: Any, low: float, high: float) -> bool:
    return not numbers.size or bool(low <= numbers.min() and numbers.max() <= high)


def _is_masked(operand: Any, result: Any) -> bool:
    """True if all non-finite operands are minus infinity and the result is finite."""
    below = not np.isnan(operand).any() and bool((operand < np.inf).all())
    return below and all(bool(np.isfinite(each).all()) for each in arrays((result,)))


@functools.cache
def _kinds(dtypes: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_kind(np.dtype(dtype)) for dtype in dtypes)


def _kind(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for the kind; "f" also for the floats of `ml_dtypes`."""
    return dtype.kind if dtype.kind in "iub" else "f"


def moving(name: str, build: Build, reference: Reference, **others: Any) -> Op:
    """The record of an operator that only moves elements about, of any value.

    Args:
        others: further fields of the record.
    """
    return Op(
        name=name,
        build=build,
        reference=reference,
        dtypes=(*ALL, *BRAIN),
        nonfinite=True,
        **others,
    )
