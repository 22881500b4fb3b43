"""The record of one Relax operator: how to call it, and what it computes."""

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
from .accepts import Rule as Accepts
from .batching import Rule as Batching
from .laws import Law
from .undefined import Behaviour, arrays, is_float, overflowed
from .undefined import Rule as Undefined
from .variation import BYTES, Variations, varied

EVERYWHERE = (-math.inf, math.inf)
"""The domain of an operator that is defined for all numbers."""

FLOATS = ("float32", "float16", "float64")
WIDE = ("float32", "float64")
"""Where LLVM has no float16 version of an intrinsic."""
SIGNED = ("int32", "int64", "int8", "int16")
INTEGERS = (*SIGNED, "uint8")
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, "bool")
BRAIN = ("bfloat16",)
"""Where TVM's legalization of bfloat16 knows the operator. No palette of dtypes has it: such
tensors come from a conversion, mostly."""

Build = Callable[[Choices, Scope], relax.Expr]
"""Choose operands (from the scope, or fresh) and attributes, and return the call, not bound yet.

It must always succeed: `Scope.tensor` makes a fresh parameter or constant where nothing in scope
fits. Guards that keep undefined behaviour out (a divisor that may be 0) are part of it.
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
    """Everything relaxfuzz knows of one operator; adding one touches this one place."""

    name: str
    """Registered name without the leading `relax.`, e.g. "nn.conv2d"."""

    build: Build
    reference: Reference

    dtypes: tuple[str, ...]
    """Dtypes that `build` may give to the data operands.

    For other kinds of numbers (floats, signed and unsigned integers, bool) a call is made rarely,
    if type inference accepts them, and the result counts as undefined. It must be built and run
    nevertheless.
    """

    kinds: str = ""
    """NumPy's letters for further kinds of numbers ("u", "b") for which the reference holds."""

    domain: tuple[float, float] = EVERYWHERE
    """Operand values on which TVM and the reference agree by definition (`tan`: between poles)."""

    tolerance: Tolerance = Tolerance()

    nonfinite: bool = False
    """The reference also holds for NaN and infinities among the operands.

    So it is for arithmetic as in IEEE 754 and for what only moves elements about, where generated
    code agrees; not where the documentation leaves it open (a maximum, a sort, an activation).
    """

    masks: bool = False
    """The reference also holds for minus infinity among the operands, as masks have it, as long as
    the result is finite: the exponential of it is 0."""

    undefined: Undefined | None = None
    """For which other operands the result is undefined; see `undefined.py`."""

    accepts: Accepts | None = None
    """The values that operands are meant to have, indices for example; see `accepts.py`."""

    moves: tuple[int, ...] = ()
    """The operands all of whose elements are among those of the result, perhaps as another dtype.

    One that selects some, such as `where`, may guard an operator that has it for an operand.
    """

    arithmetic: tuple[int, ...] = ()
    """The operands that it adds or multiplies: integers of 32 and 64 bits may overflow."""

    batching: Batching | None = None
    """How a batch passes through the operator; see `batching.py`. None: nothing is known."""

    laws: tuple[Law, ...] = ()
    """Relations between its results, those that are undefined among them; see `laws.py`."""

    legalizes: bool = True
    """False where the operator has no FLegalize."""

    lowered_by: str | None = None
    """The pass, other than LegalizeOps, that lowers the operator by its name.

    If the default pipeline has that pass, the oracle lowering-complete leaves such calls to it.
    """
    pure: bool = True

    needs: Trait | None = None
    """Only in modules with this trait; None: in all."""

    executes: bool = True
    """False where no CPU build of the operator is expected to run."""

    numbers: bool = False
    """Numbers may stand for its tensors: one operand a tensor, another a `relax.PrimValue`."""

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
        """Its operands may have any values."""
        return self.accepts is None and self.domain == EVERYWHERE

    def accepted(self, shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
        """The values that operands of these shapes are meant to have; nothing of the others."""
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
        """Why the operator has no defined result for these operands; None if it has one.

        Args:
            args: the operands, as for the reference.
            result: what the reference gives for them.
            attrs: the call's attributes. Without them, what is undefined for some is for all.
            wraps: sums and products of integers wrap around, as they do when they run.
        """
        tensors = arrays(args)
        known = _kinds(self.dtypes).union(self.kinds)
        if tensors and _kind(tensors[0].dtype) not in known:
            return Behaviour.OPEN
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
    """Minus infinity alone comes in, and nothing that is not finite comes out."""
    below = not np.isnan(operand).any() and bool((operand < np.inf).all())
    return below and all(bool(np.isfinite(each).all()) for each in arrays((result,)))


@functools.cache
def _kinds(dtypes: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_kind(np.dtype(dtype)) for dtype in dtypes)


def _kind(dtype: np.dtype[Any]) -> str:
    """NumPy's letter; the floats of `ml_dtypes` have another one there."""
    return dtype.kind if dtype.kind in "iub" else "f"


def moving(
    name: str,
    build: Build,
    reference: Reference,
    *,
    batching: Batching | None = None,
    undefined: Undefined | None = None,
    accepts: Accepts | None = None,
    moves: tuple[int, ...] = (),
    lowered_by: str | None = None,
) -> Op:
    """The record of an operator that only moves elements about, whatever they are."""
    return Op(
        name=name,
        build=build,
        reference=reference,
        dtypes=(*ALL, *BRAIN),
        nonfinite=True,
        batching=batching,
        undefined=undefined,
        accepts=accepts,
        moves=moves,
        lowered_by=lowered_by,
    )
