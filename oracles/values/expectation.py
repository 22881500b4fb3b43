"""What functions must give for chosen arguments, evaluated in NumPy."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from ...compat import ir
from ...generators.ops.record import Tolerance
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..execute import Failure, Plan
from ..inspect import nodes
from ..silence import inventory
from ..silence.log import excused
from ..tensorir import SMALL, sanitize, translate
from ..tensorir.runtime import NEGATIVE, OTHER, PATTERN, ZERO
from ..tensorir.sanitizer.run import in_whole_numbers, wrapped_around
from ..tensorir.sanitizer.runtime import OVERFLOW
from .comparison import difference, exact, perturbed, where_same
from .inputs import EXTREMES, Kind

PHASES = (0, 1, 2)
"""Ways to perturb: several, since one may happen to move nothing; each number goes up and down."""

MORE_PHASES = (4, 5, 6, 7, 8)
"""For arguments of which sums cancel out: in each regular way some sum stays as it is."""

OTHERS = (OTHER, ZERO, NEGATIVE)
"""Contents of unwritten memory; a defined element is the same for all of them."""

TIGHT = Tolerance(
    float16=5e-3, float32=2e-5, float64=1e-10, reason="no operator on the way had to round"
)

PRECISE = Tolerance(
    float16=2e-2, float32=3e-5, float64=1e-11, reason="both sides are computed in the same way"
)
"""Some 500 units in the last place of float32, a sixteenth of one of float16: far more than another
order of a sum makes."""


class Expectation:
    """One call of one function, and what it must give."""

    record: Sequence[str] = ()
    """In the VM, calls of these packed functions are what it gives; see `execute`."""
    valued: bool = True
    """There is something that it must give; otherwise only what it does to memory counts."""
    precise: bool = False
    """A result that is computed by the same evaluator is expected: only what rounds in another
    order may differ."""
    finite: bool = True
    """No NaN and no infinity comes up on the way."""
    partial: bool = False
    """A value on the way is not promised, and the result does not depend on it."""
    promised: bool = True
    """False where the record of an operator promises no result for its operands: what comes is not
    compared, but something must come."""

    def __init__(
        self,
        mod: tvm.IRModule,
        function: str,
        args: list[Any],
        result: Any,
        kind: Kind = Kind.WHOLE,
        plan: Callable[[list[Any]], Plan] | None = None,
        wraps: bool = False,
    ) -> None:
        """
        Args:
            plan: the calls to make for these arguments; None: the one call of the function.
            wraps: see `Evaluator`.
        """
        self.mod = mod
        self.function = function
        self.args = args
        self.result = result
        self.kind = kind
        self._plan = plan
        self.wraps = wraps
        self._value: tuple[Any, Exception | None] | None = None

    def plan(self, args: list[Any] | None = None) -> Plan:
        """The call itself, with copies of the arguments: it may write into them.

        Args:
            args: others than its own.
        """
        given = copies(self.args if args is None else args)
        if self._plan is not None:
            return self._plan(given)
        return lambda run: run(self.function, given)

    def evaluate(self, args: list[Any] | None = None, **options: Any) -> Any:
        """What the call gives in NumPy; options as for `Evaluator`.

        Args:
            args: others than its own.

        Raises:
            Unsupported, Mismatch, Undefined: see `Evaluator.run`.
        """
        evaluator = Evaluator(self.mod, wraps=self.wraps, promised=self.promised, **options)
        return self.plan(args)(evaluator.run)

    def run(
        self,
        prim: Callable[[tirx.PrimFunc, list[Any], list[int], tirx.PrimFunc], Any] | None = None,
    ) -> Any:
        """What `value` gives, evaluated now.

        Args:
            prim: sees each call of a PrimFunc, see `Evaluator`, and gives what its translation
                does.
        """
        try:
            self._value = self.evaluate(prim=prim), None
        except (Unsupported, Mismatch, Undefined) as error:
            self._value = None, error
        return self.value()

    def value(self) -> Any:
        """What the call gives in NumPy, evaluated once for all that ask.

        Raises:
            Unsupported, Mismatch, Undefined: see `Evaluator.run`.
        """
        if self._value is None:
            return self.run()
        value, error = self._value
        if error is not None:
            raise error
        return value

    @functools.cached_property
    def arbitrary(self) -> bool:
        """The result depends on memory that nothing has been written to, or on whether a reduction
        over nothing writes the value that it begins with."""
        if self.kind is Kind.EMPTY and self._reduces:
            return True
        again = self._over(OTHER)
        return again is None or difference(self.result, again[0], (), TIGHT) is not None

    @functools.cached_property
    def _others(self) -> list[Any] | None:
        """The results of the call with other memory; None where they are not known."""
        if self.kind is Kind.EMPTY and self._reduces:
            return None
        found = [again for pattern in OTHERS if (again := self._over(pattern)) is not None]
        return [result for (result,) in found] if len(found) == len(OTHERS) else None

    def _over(self, pattern: int) -> tuple[Any] | None:
        """The result of the call where unwritten memory holds this pattern; None: not known."""
        token = PATTERN.set(pattern)
        try:
            return (self.evaluate(),)
        except (Unsupported, Mismatch, Undefined):
            return None
        finally:
            PATTERN.reset(token)

    @property
    def _reduces(self) -> bool:
        """A PrimFunc with a reduction: over nothing it writes nothing, and once it is decomposed
        into a block that begins and one that goes on (`Schedule.decompose_reduction`), it does.
        """
        func = self.mod[self.function]
        blocks = nodes(func, ir.SBlock) if isinstance(func, tirx.PrimFunc) else []
        return any(block.init is not None for block in blocks)

    @functools.cached_property
    def misuses(self) -> bool:
        """A tensor that is updated in place is aliased or live after the update."""
        evaluator = Evaluator(self.mod, wraps=self.wraps)
        with contextlib.suppress(Unsupported, Mismatch, Undefined):
            self.plan()(evaluator.run)
        return evaluator.misused

    @functools.cached_property
    def overflows(self) -> bool:
        """A PrimFunc adds or multiplies integers beyond their range; see `Behaviour`.

        What the evaluator computes with its operators it has checked itself. Where it would take
        too long to know of a PrimFunc, it counts as one if the arguments are extremes.
        """
        found = False

        def prim(func: tirx.PrimFunc, args: list[Any], outputs: list[int], _: Any) -> Any:
            nonlocal found
            try:
                fault = sanitize(func, args, SMALL, outputs, overflow=True)
                found |= fault is not None and fault.kind == OVERFLOW
            except (Unsupported, Mismatch, Undefined):
                found |= self.kind in EXTREMES
            return translate(func)(*args)

        with contextlib.suppress(Unsupported, Mismatch, Undefined):
            self.evaluate(prim=prim)
        return found

    @functools.cached_property
    def in_whole_numbers(self) -> Any:
        """The result if no int32 and no int64 of its PrimFuncs overflows on the way.

        Raises:
            Unsupported, Mismatch, Undefined: it is not known, or there is none.
        """
        return self._computed(in_whole_numbers)

    @functools.cached_property
    def wrapped_around(self) -> Any:
        """The result if every int32 and int64 of its PrimFuncs wraps around, as in compiled code.

        Otherwise numbers that are no elements of tensors, such as parameters, only do when they are
        stored.

        Raises:
            Unsupported, Mismatch, Undefined: it is not known, or there is none.
        """
        return self._computed(wrapped_around)

    def _computed(self, run: Callable[[tirx.PrimFunc, list[Any], int], list[Any]]) -> Any:
        def prim(func: tirx.PrimFunc, args: list[Any], outputs: list[int], _: Any) -> Any:
            returned = translate(func)(*copies(args))
            for arg, new in zip(args, run(func, args, SMALL), strict=True):
                if isinstance(arg, np.ndarray):
                    arg[...] = new
            return returned

        return self.evaluate(prim=prim)

    @functools.cached_property
    def shaken(self) -> tuple[Any, ...] | None:
        """Results where every operator's result is slightly off: the leeway that rounding has.

        None where slightly other values lead to something that is not known.
        """
        return self._shaken(coarse=False)

    @functools.cached_property
    def coarsely_shaken(self) -> tuple[Any, ...] | None:
        """Results where every argument and every operator's result is off as if it were in float16:
        a sum near zero is off by as much as its summands are."""
        return self._shaken(coarse=True)

    @functools.cached_property
    def exact(self) -> bool:
        """No operator on the way had to round: all values are small multiples of 1/8."""
        whole = self.kind is not Kind.SPECIAL

        def watch(var: relax.Var, value: Any) -> None:
            nonlocal whole
            whole = whole and exact(value)

        self.evaluate(watch=watch)
        return whole

    def bounds(
        self, tolerance: Tolerance | None = None
    ) -> tuple[Tolerance, tuple[Any, ...] | None]:
        """The tolerance for results, and results that are off by as much as rounding may do.

        Args:
            tolerance: of a computation in less precision; None: the same precision is expected.
        """
        if tolerance is not None:
            return tolerance, self.coarsely_shaken
        usual = PRECISE if self.precise else Tolerance()
        return TIGHT if self.exact else usual, self.shaken

    def precisely(self) -> Expectation:
        """The same call, whose result is compared with less tolerance."""
        other = copy.copy(self)
        other.precise = True
        return other

    def differs(self, actual: Any, tolerance: Tolerance | None = None) -> str | None:
        """What the first difference is: "values: expected ... but got ..."; or None.

        An arbitrary element differs from none, and so does the result of a module that overflows.

        Args:
            tolerance: see `bounds`.
        """
        if isinstance(actual, Failure):
            return f"results (the VM raised {actual.error}): {actual.text}"
        if not self.promised:
            return None
        # What is dear to know is asked only where something is to be explained.
        close = difference(self.result, actual, (), tolerance or TIGHT)
        if close is None:
            return None
        allowed, shaken = self.bounds(tolerance)
        found = difference(self.result, actual, shaken or (), allowed)
        if found is None or shaken is None:
            return None if excused(inventory.ROUNDING, close) else close
        if self.arbitrary and (found := self._of_defined(found, actual, allowed)) is None:
            return None
        if self.overflows and excused(inventory.OVERFLOW, found):
            return None
        return found

    def _of_defined(self, found: str, actual: Any, allowed: Tolerance) -> str | None:
        """The difference in the elements that do not depend on unwritten memory."""
        defined = None
        if self._others is not None:
            same = where_same(self.result, self._others, actual)
            defined = difference(self.result, same, self.shaken or (), allowed)
        if defined is None and excused(inventory.ARBITRARY, found):
            return None
        return defined or found

    def _shaken(self, *, coarse: bool) -> tuple[Any, ...] | None:
        # Of these even one sum may cancel out, and its rounding depends on the order.
        cancels = self.kind in (*EXTREMES, Kind.DISTANT)
        moves = coarse or cancels
        phases = (*PHASES, *(MORE_PHASES if cancels else ()))
        shakes = [functools.partial(perturbed, phase=phase, coarse=coarse) for phase in phases]
        try:
            return tuple(
                self.evaluate([shake(arg) for arg in self.args] if moves else None, perturb=shake)
                for shake in shakes
            )
        except (Unsupported, Mismatch, Undefined):
            return None


def copies(value: Any) -> Any:
    """The same numbers in arrays that nobody else has."""
    if isinstance(value, tuple):
        return tuple(map(copies, value))
    if isinstance(value, list):
        return list(map(copies, value))
    return value.copy() if isinstance(value, np.ndarray) else value
