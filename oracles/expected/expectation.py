"""Expected results of functions for chosen arguments, evaluated in NumPy."""

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
from .comparison import COARSE, difference, exact, perturbed, where_same
from .inputs import EXTREMES, InputKind

PHASES = (0, 1, 2)
"""Phases of `perturbed`: several, since one alone may move nothing; each number moves up and down.
"""

MORE_PHASES = (4, 5, 6, 7, 8)
"""Further phases for arguments whose sums cancel out: each regular phase leaves some sum unchanged.
"""

OTHERS = (OTHER, ZERO, NEGATIVE)
"""Contents of unwritten memory; a defined element does not depend on them."""

TIGHT = Tolerance(
    float16=5e-3, float32=2e-5, float64=1e-10, reason="no operator on the way had to round"
)

PRECISE = Tolerance(
    float16=2e-2, float32=3e-5, float64=1e-11, reason="both sides are computed in the same way"
)
"""Some 500 units in the last place of float32, a sixteenth of one of float16. That is far more than
the effect of another summation order."""


class Expectation:
    """One call of one function, and its expected result."""

    record: Sequence[str] = ()
    """Packed functions whose calls replace the result in the VM; see `execute`."""
    valued: bool = True
    """True if there is an expected result; otherwise only memory accesses are compared."""
    precise: bool = False
    """True if the compared result comes from the same evaluator, so that only the order of rounding
    may differ."""
    finite: bool = True
    """True if no NaN and no infinity occurs in the computation."""
    partial: bool = False
    """True if an intermediate value is not promised, but the result does not depend on it."""
    seconds: float = 0.0
    """CPU time that the evaluation has taken."""
    converts: bool = False
    """True if a number is converted to an integer that cannot hold it, but the result does not
    depend on the outcome."""
    foreign: set[str] | None = None
    """The operators called whose records promise nothing for their operands' kind of numbers; None:
    they have no result."""
    promised: bool = True
    """False if an operator's record promises no result for its operands. The result is then not
    compared, but must exist."""

    def __init__(
        self,
        mod: tvm.IRModule,
        function: str,
        args: list[Any],
        result: Any,
        kind: InputKind = InputKind.WHOLE,
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
        self._moved: dict[float, list[Any]] = {}
        """The slightly changed results made so far; shared with `precisely`."""

    def plan(self, args: list[Any] | None = None) -> Plan:
        """The call itself, with copies of the arguments, since it may write into them.

        Args:
            args: arguments to use instead of its own.
        """
        given = copies(self.args if args is None else args)
        if self._plan is not None:
            return self._plan(given)
        return lambda run: run(self.function, given)

    def evaluate(self, args: list[Any] | None = None, **options: Any) -> Any:
        """The result of the call in NumPy; options as for `Evaluator`.

        Args:
            args: arguments to use instead of its own.

        Raises:
            Unsupported, Mismatch, Undefined: see `Evaluator.run`.
        """
        options |= {"promised": self.promised, "converts": self.converts, "foreign": self.foreign}
        evaluator = Evaluator(self.mod, wraps=self.wraps, **options)
        return self.plan(args)(evaluator.run)

    def run(
        self,
        prim: Callable[[tirx.PrimFunc, list[Any], list[int], tirx.PrimFunc], Any] | None = None,
    ) -> Any:
        """The result of `value`, evaluated now.

        Args:
            prim: called in place of each PrimFunc, see `Evaluator`; must give the result of its
                translation.
        """
        try:
            self._value = self.evaluate(prim=prim), None
        except (Unsupported, Mismatch, Undefined) as error:
            self._value = None, error
        return self.value()

    def value(self) -> Any:
        """The result of the call in NumPy, evaluated only once.

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
        """True if the result depends on unwritten memory, or on whether a reduction over no
        elements writes its initial value."""
        if self.kind is InputKind.EMPTY and self._reduces:
            return True
        again = self._over(OTHER)
        return again is None or difference(self.result, again[0], (), TIGHT) is not None

    @functools.cached_property
    def _others(self) -> list[Any] | None:
        """The results of the call with other unwritten memory; None if not known."""
        if self.kind is InputKind.EMPTY and self._reduces:
            return None
        found = [again for pattern in OTHERS if (again := self._over(pattern)) is not None]
        return [result for (result,) in found] if len(found) == len(OTHERS) else None

    def _over(self, pattern: int) -> tuple[Any] | None:
        """The result of the call if unwritten memory holds this pattern; None if not known."""
        token = PATTERN.set(pattern)
        try:
            return (self.evaluate(),)
        except (Unsupported, Mismatch, Undefined):
            return None
        finally:
            PATTERN.reset(token)

    @property
    def _reduces(self) -> bool:
        """True for a PrimFunc with a reduction.

        Over no elements it writes nothing, unless it is decomposed into a block that initializes
        and one that updates (`Schedule.decompose_reduction`).
        """
        func = self.mod[self.function]
        blocks = nodes(func, ir.SBlock) if isinstance(func, tirx.PrimFunc) else []
        return any(block.init is not None for block in blocks)

    @functools.cached_property
    def misuses(self) -> bool:
        """True if a tensor that is updated in place is aliased, or live after the update."""
        evaluator = Evaluator(self.mod, wraps=self.wraps)
        with contextlib.suppress(Unsupported, Mismatch, Undefined):
            self.plan()(evaluator.run)
        return evaluator.misused

    @functools.cached_property
    def overflows(self) -> bool:
        """True if a PrimFunc adds or multiplies integers beyond their range; see `Behaviour`.

        The evaluator itself checks operators. A PrimFunc that takes too long to check counts as
        overflowing if the arguments are extremes.
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
        """The result, provided no int32 and no int64 of its PrimFuncs overflows.

        Raises:
            Unsupported, Mismatch, Undefined: it is not known, or there is none.
        """
        return self._computed(in_whole_numbers)

    @functools.cached_property
    def wrapped_around(self) -> Any:
        """The result, with every int32 and int64 of its PrimFuncs wrapping as in compiled code.

        Without this, numbers outside tensors, such as parameters, only wrap around when stored.

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

    def shaken(self, times: float = 1) -> tuple[Any, ...] | None:
        """Results with every operator's result slightly off, by `times` the leeway of rounding.

        Above 1, arguments are off as well: with `COARSE`, a sum near zero is off by as much as its
        summands in float16. None if the changed values lead to an unknown result.
        """
        return self._shaken(len(self._phases), times)

    @functools.cached_property
    def exact(self) -> bool:
        """True if no operator had to round on the way: all values are small multiples of 1/8."""
        whole = self.kind is not InputKind.SPECIAL

        def watch(var: relax.Var, value: Any) -> None:
            nonlocal whole
            whole = whole and exact(value)

        self.evaluate(watch=watch)
        return whole

    def bounds(
        self, tolerance: Tolerance | None = None
    ) -> tuple[Tolerance, tuple[Any, ...] | None]:
        """The tolerance for results, and results shifted as far as rounding allows.

        Args:
            tolerance: for a computation in less precision; None: in the same precision.
        """
        return self._allowed(tolerance), self.shaken(1 if tolerance is None else COARSE)

    def _allowed(self, tolerance: Tolerance | None) -> Tolerance:
        if tolerance is not None:
            return tolerance
        usual = PRECISE if self.precise else Tolerance()
        return TIGHT if self.exact else usual

    def precisely(self) -> Expectation:
        """The same call, whose result is compared with less tolerance."""
        other = copy.copy(self)
        other.precise = True
        return other

    def differs(self, actual: Any, tolerance: Tolerance | None = None) -> str | None:
        """The first difference, "values: expected ... but got ...", or None.

        Arbitrary elements, and results of a module that overflows, never count as different.

        Args:
            tolerance: see `bounds`.
        """
        if isinstance(actual, Failure):
            return f"results (the VM raised {actual.error}): {actual.text}"
        if not self.promised:
            return None
        # Compute the expensive facts only if there is a difference to explain.
        close = difference(self.result, actual, (), tolerance or TIGHT)
        if close is None:
            return None
        allowed = self._allowed(tolerance)
        found = difference(self.result, actual, (), allowed)
        for count in range(1, len(self._phases) + 1):  # each one costs an evaluation
            if found is None:
                break
            shaken = self._shaken(count, 1 if tolerance is None else COARSE)
            found = None if shaken is None else difference(self.result, actual, shaken, allowed)
        if found is None:
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
            defined = difference(self.result, same, self.shaken() or (), allowed)
        if defined is None and excused(inventory.ARBITRARY, found):
            return None
        return defined or found

    @property
    def _phases(self) -> tuple[int, ...]:
        return (*PHASES, *(MORE_PHASES if self._cancels else ()))

    @property
    def _cancels(self) -> bool:
        """True if even a single sum, whose rounding depends on the order, may cancel out."""
        return self.kind in (*EXTREMES, InputKind.DISTANT)

    def _shaken(self, count: int, times: float) -> tuple[Any, ...] | None:
        """The results of the first phases; None if one of them is unknown."""
        made = self._moved.setdefault(times, [])
        for phase in self._phases[len(made) : count]:
            if made and made[-1] is None:
                break
            made.append(self._in_phase(phase, times))
        return None if None in made else tuple(result for (result,) in made)

    def _in_phase(self, phase: int, times: float) -> tuple[Any] | None:
        shake = functools.partial(perturbed, phase=phase, times=times)
        try:
            args = [shake(arg) for arg in self.args] if times > 1 or self._cancels else None
            return (self.evaluate(args, perturb=shake),)
        except (Unsupported, Mismatch, Undefined):
            return None


def copies(value: Any) -> Any:
    """A deep copy: the same numbers in arrays that are not shared."""
    if isinstance(value, tuple):
        return tuple(map(copies, value))
    if isinstance(value, list):
        return list(map(copies, value))
    return value.copy() if isinstance(value, np.ndarray) else value
