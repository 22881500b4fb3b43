"""What functions must give for chosen arguments, evaluated in NumPy."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import PrimType

from ...compat import ir
from ...generators.ops import table
from ...generators.ops.record import Tolerance
from ..errors import Mismatch, NoValue, TooLarge, Undefined, Unsupported
from ..evaluate import Evaluator
from ..execute import Failure, Plan
from ..execute.kernels import iterations_of
from ..inspect import entries, global_vars, nodes, ops_used
from ..keys import computes
from ..silence import inventory
from ..silence.inventory import RULES, of_error
from ..silence.log import Silence, excused, is_loud, note, omit
from ..silence.rule import SilenceRule
from ..tensorir import SMALL, has_callees, kernels_of, sanitize, translate
from ..tensorir.runtime import NEGATIVE, OTHER, PATTERN, ZERO
from ..tensorir.sanitizer.run import in_whole_numbers, wrapped_around
from ..tensorir.sanitizer.runtime import OVERFLOW
from ..text.messages import headline
from ..violation import Journal, silent
from .comparison import difference, exact, finite, leaves, perturbed, where_same
from .inputs import EXTREMES, TRIES, Kind, drawn, parameters_of
from .relations import Rule

PHASES = (0, 1, 2)
"""Ways to perturb: several, since one may happen to move nothing; each number goes up and down."""

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

PLAIN = (Kind.WHOLE, Kind.POSITIVE)
"""Draws that are enough where every one costs a run in the VM and lines in a reproducer."""

_PLAIN = [(number, kind) for number, kind in enumerate(Kind) if kind in PLAIN]
"""With their seeds."""


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
        """What the call gives with other memory; None where it is not known."""
        if self.kind is Kind.EMPTY and self._reduces:
            return None
        found = [again for pattern in OTHERS if (again := self._over(pattern)) is not None]
        return [result for (result,) in found] if len(found) == len(OTHERS) else None

    def _over(self, pattern: int) -> tuple[Any] | None:
        """What the call gives where memory that nothing has been written to holds this pattern."""
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
        def prim(func: tirx.PrimFunc, args: list[Any], outputs: list[int], _: Any) -> None:
            for arg, new in zip(args, run(func, args, SMALL), strict=True):
                if isinstance(arg, np.ndarray):
                    arg[...] = new

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
        shakes = [functools.partial(perturbed, phase=phase, coarse=coarse) for phase in PHASES]
        # Of these even one sum may cancel out, and its rounding depends on the order.
        moves = coarse or self.kind in (*EXTREMES, Kind.DISTANT)
        try:
            return tuple(
                self.evaluate([shake(arg) for arg in self.args] if moves else None, perturb=shake)
                for shake in shakes
            )
        except (Unsupported, Mismatch, Undefined):
            return None


class Expectations:
    """What the functions of one module give, each evaluated when it is asked for."""

    def __init__(self, mod: tvm.IRModule, largest: float = math.inf) -> None:
        """
        Args:
            largest: iterations of a PrimFunc, with more of which it is too large. What takes the
                evaluator too long is in any case.
        """
        self._mod = mod
        self._largest = largest
        self._known: dict[tuple[str, Kind], Expectation | None] = {}
        self._why_not: dict[tuple[str, Kind], Silence] = {}
        """The reason for each call that there is not."""
        self._valueless: dict[tuple[str, Kind], Expectation] = {}
        self._too_large: set[tuple[str, Kind]] = set()
        self._reached: dict[str, frozenset[str]] = {}
        self._has_callees = has_callees(mod)
        self._nonfinite: dict[str, bool] = {}

    def of(
        self,
        name: str,
        rule: Rule | None = None,
        kinds: Sequence[Kind] = tuple(Kind),
        journal: Journal = silent,
    ) -> Iterator[Expectation]:
        """Calls of a function that the evaluator knows.

        NaN and infinity come up only where every operator defines what it makes of them.

        Args:
            rule: may choose other arguments.
            kinds: of arguments, in the order in which they are tried.
            journal: is told before each evaluation.
        """
        own = rule is not None and (rule.arguments is not None or rule.sizes is not None)
        for kind in kinds:
            if own:
                made = self._made(name, rule, kind, journal)
            else:
                if (name, kind) not in self._known:
                    self._known[name, kind] = self._made(name, rule, kind, journal)
                made = self._known[name, kind]
            if made is not None:
                yield made
            elif (name, kind) in self._too_large:
                omit("values in NumPy")
            elif (why := self._why_not.get((name, kind))) is not None:
                note(RULES[why.rule], why.why)

    def all(
        self, rule: Rule | None = None, kinds: Sequence[Kind] = PLAIN, journal: Journal = silent
    ) -> list[Expectation]:
        """Calls of the functions that CPU builds are expected to run.

        Args:
            rule: may choose other arguments, and leave functions out.
            kinds: of arguments.
            journal: is told before each evaluation.
        """
        return [
            expectation
            for gvar, func in entries(self._mod)
            if executes(func) and (rule is None or rule.applies(str(gvar.name_hint)))
            for expectation in self.of(str(gvar.name_hint), rule, kinds, journal)
        ]

    def unpromised(self, journal: Journal = silent) -> list[Expectation]:
        """Calls of the other functions that CPU builds are expected to run, as far as all that
        stands against a result is that the record of an operator does not promise it."""
        found = []
        for gvar, func in entries(self._mod):
            name = str(gvar.name_hint)
            why = [self._why_not.get((name, kind)) for kind in PLAIN]
            if executes(func) and all(each and each.rule == inventory.OPEN.name for each in why):
                journal("evaluate")
                drawn = (self._drawn(name, None, kind, i, promised=False) for i, kind in _PLAIN)
                found += [made for made in drawn if made is not None]
        return found

    def again(self, name: str, rule: Rule, kind: Kind) -> Expectation | None:
        """A call with other numbers of a kind than `of` gives; None where it is not defined."""
        return self._drawn(name, rule, kind, list(Kind).index(kind) + TRIES * len(Kind))

    def valueless(self, name: str, kinds: Sequence[Kind] = tuple(Kind)) -> list[Expectation]:
        """The calls among those that were asked for, of which a reference knows no value."""
        found = (self._valueless.get((name, kind)) for kind in kinds)
        return [e for e in found if e is not None]

    def why_not(self, name: str) -> str | None:
        """Why there are no calls of a function that was asked for; None: no reason is known."""
        found = (why.why for (other, _), why in self._why_not.items() if other == name)
        return next(found, None)

    def reached(self, name: str) -> frozenset[str]:
        """The functions that a function may call, itself included."""
        if name not in self._reached:
            found: set[str] = set()
            todo = [name]
            while todo:
                one = todo.pop()
                if one not in found and one in self._mod:
                    found.add(one)
                    func = self._mod[one]
                    called = global_vars(func)
                    if isinstance(func, tirx.PrimFunc) and self._has_callees:
                        called += kernels_of(func, self._mod)
                    todo += [str(gvar.name_hint) for gvar in called]
            self._reached[name] = frozenset(found)
        return self._reached[name]

    def _made(
        self, name: str, rule: Rule | None, kind: Kind, journal: Journal
    ) -> Expectation | None:
        """The first draw for which the function is defined."""
        if self._always_too_large(name):
            self._too_large.add((name, kind))
            return None
        first = list(Kind).index(kind)
        tries = TRIES if kind in EXTREMES else 2 if _has_numbers(self._mod[name]) else 1
        for turn in range(tries):
            journal("evaluate")
            made = self._drawn(name, rule, kind, first + turn * len(Kind))
            if made is not None:
                return made
            if (name, kind) in self._too_large:
                break
        if (name, kind) in self._too_large:
            gc.collect()  # a local function and its variables are a cycle that holds the tensors
        return None

    def _drawn(
        self, name: str, rule: Rule | None, kind: Kind, seed: int, *, promised: bool = True
    ) -> Expectation | None:
        func = self._mod[name]
        nonfinite = self._all_nonfinite(name)
        if kind is Kind.SPECIAL and not nonfinite:
            return None
        usual = True

        def watch(var: relax.Var, value: Any) -> None:
            nonlocal usual
            usual = usual and (callable(value) or finite(value))

        try:
            if kind is Kind.EMPTY and not (_has_symbolic_sizes(func) or _has_numbers(func)):
                return None
            sizes = rule.sizes(name) if rule and rule.sizes else None
            args = drawn(func, kind, seed, sizes)
            if rule is not None and rule.arguments is not None:
                args = rule.arguments(name, args)
            evaluator = Evaluator(self._mod, watch, promised=promised)
            result = evaluator.run(name, copies(args))
        except NoValue as error:
            self._why_not[name, kind] = Silence(of_error(error).name, why=headline(str(error)))
            self._valueless[name, kind] = e = Expectation(self._mod, name, args, None, kind)
            e.valued = False
            return None
        except (Unsupported, Mismatch, Undefined) as error:
            text = f"{type(error).__name__}: {headline(str(error))}"
            self._why_not[name, kind] = Silence(of_error(error).name, why=text)
            if isinstance(error, TooLarge):
                self._too_large.add((name, kind))
            return None
        if evaluator.misused and self._excused(inventory.MISUSED, name, kind):
            return None
        if not (usual or nonfinite) and self._excused(inventory.NOT_FINITE, name, kind):
            return None
        if any(callable(leaf) for _, leaf in leaves(result)):
            return None
        made = Expectation(self._mod, name, args, result, kind)
        made.finite = usual
        made.promised = promised
        return made

    def _excused(self, rule: SilenceRule, name: str, kind: Kind) -> bool:
        """The rule leaves out a call; each oracle that asks for it logs that."""
        if is_loud(rule):
            return False
        self._why_not[name, kind] = Silence(rule.name, why=rule.excuses)
        return True

    def _always_too_large(self, name: str) -> bool:
        """A PrimFunc of tensors of fixed sizes was too large: other elements change little."""
        func = self._mod[name]
        if isinstance(func, tirx.PrimFunc) and iterations_of(func) > self._largest:
            return True
        if all(other != name for other, _ in self._too_large):
            return False
        if not isinstance(func, tirx.PrimFunc) or _has_symbolic_sizes(func):
            return False
        return all(isinstance(param.ty, tirx.BufferType) for param in parameters_of(func))

    def _all_nonfinite(self, name: str) -> bool:
        """Every operator on the way has a reference that is defined for NaN and infinity.

        What TensorIR makes of them is not documented.
        """
        if name not in self._nonfinite and isinstance(self._mod[name], tirx.PrimFunc):
            self._nonfinite[name] = False
        if name not in self._nonfinite:
            ops = set[str]()
            for one in self.reached(name):
                func = self._mod[one]
                if isinstance(func, relax.Function):
                    ops |= ops_used(func)
            records = [table.get(op.removeprefix("relax.")) for op in ops if computes(op)]
            self._nonfinite[name] = all(op is not None and op.nonfinite for op in records)
        return self._nonfinite[name]


def copies(value: Any) -> Any:
    """The same numbers in arrays that nobody else has."""
    if isinstance(value, tuple):
        return tuple(map(copies, value))
    if isinstance(value, list):
        return list(map(copies, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def _has_symbolic_sizes(func: relax.Function | tirx.PrimFunc) -> bool:
    if isinstance(func, tirx.PrimFunc):
        types = [param.ty for param in parameters_of(func)]
        shapes = [ty.shape for ty in types if isinstance(ty, tirx.BufferType)]
        return any(nodes(dim, tirx.Var) for shape in shapes for dim in shape)
    return bool(relax.analysis.defined_symbolic_vars(func))


def _has_numbers(func: relax.Function | tirx.PrimFunc) -> bool:
    """A parameter is an integer."""
    types = (param.ty for param in func.params)
    return any(isinstance(ty, PrimType) and "int" in str(ty.dtype) for ty in types)


def executes(func: relax.Function | tirx.PrimFunc) -> bool:
    """Every operator is one that CPU builds are expected to run."""
    records = (table.get(op.removeprefix("relax.")) for op in ops_used(func))
    return all(record is None or record.executes for record in records)
