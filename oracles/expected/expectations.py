"""Calls of the functions of one module with their expected results, for each kind of arguments."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import PrimType

from ...compat.structural import structural_map
from ...generators.ops import table
from ...generators.ops.undefined import Behaviour
from ..errors import (
    Mismatch,
    NoResult,
    NoValue,
    OtherKind,
    TooLarge,
    Undefined,
    Unpromised,
    Unsupported,
)
from ..evaluate import Evaluator
from ..execute.kernels import iterations_of
from ..inspect import entries, global_vars, nodes, ops_used
from ..keys import computes
from ..liveness import live_variables
from ..pace import late_for_kinds
from ..silence import inventory
from ..silence.inventory import RULES, of_error
from ..silence.log import Silence, is_loud, note, omit
from ..silence.rule import SilenceRule
from ..tensorir import has_callees, kernels_of
from ..text.messages import headline
from ..violation import StepJournal, silent
from .accepted import NO_RANGES, Path, Ranges, described, narrowed, refused
from .comparison import finite, leaves
from .expectation import Expectation, copies
from .inputs import EXTREMES, TRIES, InputKind, drawn, has_indices
from .near_constants import telling
from .relations import CallRelation

PLAIN = (InputKind.WHOLE, InputKind.POSITIVE)
"""Kinds to use if each costs a run in the VM and lines in a reproducer."""

NARROWED = 6
"""Limit on how often the range of a parameter is narrowed for one kind of arguments."""

_PLAIN = [(number, kind) for number, kind in enumerate(InputKind) if kind in PLAIN]
"""The plain kinds with their seeds."""


class Expectations:
    """Calls of the functions of one module, each evaluated on demand."""

    def __init__(self, mod: tvm.IRModule, largest: float = math.inf) -> None:
        """
        Args:
            largest: limit of the iterations of a PrimFunc; larger ones are refused, as are those
                that take the evaluator too long.
        """
        self._mod = mod
        self._largest = largest
        self._known: dict[tuple[str, InputKind], Expectation | None] = {}
        self._why_not: dict[tuple[str, InputKind], Silence] = {}
        """The reason for each missing call."""
        self._valueless: dict[tuple[str, InputKind], Expectation] = {}
        self._too_large: set[tuple[str, InputKind]] = set()
        self._reached: dict[str, frozenset[str]] = {}
        self._has_callees = has_callees(mod)
        self._nonfinite: dict[str, bool] = {}
        self._ranges: dict[tuple[str, InputKind], Ranges] = {}
        """The ranges of accepted values found so far."""
        self._refused: dict[tuple[str, InputKind], str] = {}
        """The parameter to blame for a missing call, and the reason."""

    def of(
        self,
        name: str,
        rule: CallRelation | None = None,
        kinds: Sequence[InputKind] = tuple(InputKind),
        journal: StepJournal = silent,
        *,
        partial: bool = False,
    ) -> Iterator[Expectation]:
        """Yields calls of a function with results that the evaluator knows.

        NaN and infinity come up only if every operator defines its result for them.

        Args:
            rule: may choose other arguments.
            kinds: the kinds of arguments, in the order in which they are tried.
            journal: receives a step before each evaluation.
            partial: also yield calls with a value that is not promised. Their results do not depend
                on it, or both sides must compute it alike; see `Expectation.foreign`.
        """
        own = rule is not None and (rule.arguments is not None or rule.sizes is not None)
        found = False
        for kind in kinds:
            if found and late_for_kinds():
                note(inventory.NO_TIME, str(kind))
                continue
            if own:
                made = self._made(name, rule, kind, journal)
            else:
                if (name, kind) not in self._known:
                    self._known[name, kind] = self._made(name, rule, kind, journal)
                made = self._known[name, kind]
            if made is not None and (partial or not made.partial):
                found = True
                yield made
            elif (name, kind) in self._too_large:
                omit("values in NumPy")
            elif (why := self._why_not.get((name, kind))) is not None:
                note(RULES[why.rule], why.why)

    def all(
        self,
        rule: CallRelation | None = None,
        kinds: Sequence[InputKind] = PLAIN,
        journal: StepJournal = silent,
    ) -> list[Expectation]:
        """Calls of the functions that CPU builds are expected to run.

        Args:
            rule: may choose other arguments, and leave functions out.
            kinds: the kinds of arguments.
            journal: receives a step before each evaluation.
        """
        return [
            expectation
            for gvar, func in entries(self._mod)
            if executes(func) and (rule is None or rule.applies(str(gvar.name_hint)))
            for expectation in self.of(str(gvar.name_hint), rule, kinds, journal)
        ]

    def unpromised(self, journal: StepJournal = silent) -> list[Expectation]:
        """Calls of further functions that CPU builds are expected to run: those whose result is
        missing only because an operator's record does not promise it."""
        found = []
        for gvar, func in entries(self._mod):
            name = str(gvar.name_hint)
            if executes(func) and self.is_open(name):
                journal("evaluate")
                drawn = (self._drawn(name, None, kind, i, promised=False) for i, kind in _PLAIN)
                found += [made for made in drawn if made is not None]
        return found

    def is_open(self, name: str) -> bool:
        """True if a requested function has no result on plain arguments only because an operator's
        record does not promise it."""
        why = [self._why_not.get((name, kind)) for kind in PLAIN]
        return all(each and each.rule == inventory.OPEN.name for each in why)

    def near_constants(
        self, name: str, rule: CallRelation, after: tvm.IRModule
    ) -> list[Expectation]:
        """Calls of a PrimFunc next to constants on which that of the result seems to differ."""
        changes_calls = rule.sizes is not None or rule.otherwise(name) is not None
        if changes_calls or name not in after:
            return []
        func, other = self._mod[name], after[name]
        if not (isinstance(func, tirx.PrimFunc) and isinstance(other, tirx.PrimFunc)):
            return []
        if tvm_ffi.structural_equal(func, other):
            return []

        def fitting(args: list[Any]) -> list[Any]:
            return args if rule.arguments is None else rule.arguments(name, args)

        made = (self._called(name, args) for args in telling(func, other, fitting))
        return [each for each in made if each is not None]

    def _called(self, name: str, args: list[Any]) -> Expectation | None:
        """The call with these arguments; None if it is not defined."""
        rule = CallRelation(lambda other: True, arguments=lambda other, drawn: args)
        return self._drawn(name, rule, InputKind.WHOLE, 0)

    def again(self, name: str, rule: CallRelation, kind: InputKind) -> Expectation | None:
        """A call with other numbers of the same kind than `of` gives; None if it is not defined."""
        return self._drawn(name, rule, kind, list(InputKind).index(kind) + TRIES * len(InputKind))

    def valueless(
        self, name: str, kinds: Sequence[InputKind] = tuple(InputKind)
    ) -> list[Expectation]:
        """The requested calls that have no value according to a reference."""
        found = (self._valueless.get((name, kind)) for kind in kinds)
        return [e for e in found if e is not None]

    def why_not(self, name: str) -> str | None:
        """The reason for missing calls of a requested function; None if not known."""
        found = (why.why for (other, _), why in self._why_not.items() if other == name)
        return next(found, None)

    @property
    def undefined(self) -> str | None:
        """The first reason of `no_arguments` among all functions that are called from outside."""
        names = (str(gvar.name_hint) for gvar, _ in entries(self._mod))
        return next(filter(None, map(self.no_arguments, names)), None)

    def no_arguments(self, name: str) -> str | None:
        """The reason why no kind of arguments is defined for a requested function.

        None if there are calls, or if they are missing for another reason.
        """
        kinds = [kind for kind in InputKind if (name, kind) in self._why_not]
        known = (self._known.get((name, kind)) for kind in InputKind)
        if not kinds or any(made is not None and made.foreign is None for made in known):
            return None
        unclear = (inventory.UNKNOWN.name, inventory.TOO_LARGE.name)
        if any(self._why_not[name, kind].rule in unclear for kind in kinds):
            return None
        refused = next(filter(None, (self._refused.get((name, kind)) for kind in kinds)), None)
        why = refused or f"{name}: {self._why_not[name, kinds[0]].why}"
        return f"no kind of arguments is defined: {why}"

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

    def _depends_on_none(self, name: str, variables: set[int]) -> bool:
        """True if the result of a Relax function does not depend on variables with these hashes."""
        if not isinstance(self._mod[name], relax.Function):
            return False
        funcs = [self._mod[one] for one in self.reached(name)]
        live = (live_variables(func) for func in funcs if isinstance(func, relax.Function))
        return all(map(variables.isdisjoint, live))

    def _made(
        self, name: str, rule: CallRelation | None, kind: InputKind, journal: StepJournal
    ) -> Expectation | None:
        """The first draw for which the function is defined."""
        if self._always_too_large(name):
            self._too_large.add((name, kind))
            return None
        first = list(InputKind).index(kind)
        tries = TRIES if kind in EXTREMES else 2 if _has_numbers(self._mod[name]) else 1
        self._ranges[name, kind] = NO_RANGES
        left = NARROWED
        turn = 0
        while turn < tries:
            journal("evaluate")
            ranges = self._ranges[name, kind]
            began = time.process_time()
            made = self._drawn(name, rule, kind, first + turn * len(InputKind))
            if made is not None:
                made.seconds = time.process_time() - began
                for reasons in () if made.foreign else (self._why_not, self._refused):
                    reasons.pop((name, kind), None)
                return made
            if (name, kind) in self._too_large:
                break
            if left and self._ranges[name, kind] is not ranges:
                left -= 1
            else:
                turn += 1
        if (name, kind) in self._too_large:
            gc.collect()  # a local function and its variables form a cycle that keeps tensors alive
        return None

    def _drawn(
        self,
        name: str,
        rule: CallRelation | None,
        kind: InputKind,
        seed: int,
        *,
        promised: bool = True,
        converts: bool = False,
        foreign: set[str] | None = None,
    ) -> Expectation | None:
        func = self._mod[name]
        nonfinite = self._all_nonfinite(name)
        if kind is InputKind.SPECIAL and not nonfinite:
            return None
        odd: set[int] = set()
        options: dict[str, Any] = {"promised": promised, "converts": converts, "foreign": foreign}

        def watch(var: relax.Var, value: Any) -> None:
            if not (callable(value) or finite(value)):
                odd.add(hash(var))

        try:
            if kind is InputKind.EMPTY and not (_has_symbolic_sizes(func) or _has_numbers(func)):
                return None
            if kind is InputKind.OUTSIDE and not has_indices(func):
                return None
            sizes = rule.sizes(name) if rule and rule.sizes else None
            args = drawn(func, kind, seed, sizes, self._ranges.get((name, kind), NO_RANGES))
            if rule is not None and rule.arguments is not None:
                args = rule.arguments(name, args)
            evaluator = Evaluator(self._mod, watch=watch, **options)
            result = evaluator.run(name, copies(args))
        except NoValue as error:
            self._why_not[name, kind] = Silence(of_error(error).name, why=headline(str(error)))
            self._keep_valueless(name, kind, args)
            return None
        except (Unsupported, Mismatch, Undefined) as error:
            if not converts and str(error).startswith(Behaviour.CONVERSION):
                options["converts"] = True
                made = self._drawn(name, rule, kind, seed, **options)
                if made is not None and not made.arbitrary:
                    return made
            again = None
            if isinstance(error, OtherKind):
                again = self._drawn(name, rule, kind, seed, converts=converts, foreign=set())
            text = f"{type(error).__name__}: {headline(str(error))}"
            self._why_not[name, kind] = Silence(of_error(error).name, why=text)
            self._narrow(name, kind, error)
            if isinstance(error, TooLarge):
                self._too_large.add((name, kind))
            if type(error) is Unpromised:  # any of several results, and no other memory
                self._keep_valueless(name, kind, args, promised=False)
            return again
        if evaluator.misused and self._excused(inventory.MISUSED, name, kind):
            return None
        unused = bool(odd) and self._depends_on_none(name, odd)
        usual = not odd or unused
        # Operators refuse operands that they do not define; PrimFuncs take anything.
        defined = usual or nonfinite or not self._reaches_prim_func(name)
        defined = defined or self._moves_infinities(name, args, result, options)
        if not defined and self._excused(inventory.NOT_FINITE, name, kind):
            return None
        if any(callable(leaf) for _, leaf in leaves(result)):
            return None
        made = Expectation(self._mod, name, args, result, kind)
        made.finite = usual
        made.converts = converts
        made.foreign = foreign
        made.partial = evaluator.partial or unused or converts or foreign is not None
        made.promised = promised
        return made

    def _keep_valueless(
        self, name: str, kind: InputKind, args: list[Any], *, promised: bool = True
    ) -> None:
        """Keep a call whose result is not known, if nothing else in the function is undefined.

        An unused call that was not evaluated may be undefined, too.
        """
        evaluator = Evaluator(self._mod, valued=False, promised=promised)
        try:
            evaluator.run(name, copies(args))
        except (Unsupported, Mismatch, Undefined):
            return
        if evaluator.partial:
            return
        self._valueless[name, kind] = e = Expectation(self._mod, name, args, None, kind)
        e.valued, e.promised = False, promised

    def _narrow(self, name: str, kind: InputKind, error: NoResult) -> None:
        """Narrow the ranges of the parameters that are to blame from here on."""
        refusal = None if kind is InputKind.OUTSIDE else refused(self._mod, name, error)
        self._refused.pop((name, kind), None)
        if refusal is None:
            return
        params = list(self._mod[name].params)
        self._refused[name, kind] = described(params, name, refusal)
        whole = [path for path in refusal.paths if _is_whole(params[path[0]].ty, path[1:])]
        new = narrowed(self._ranges.get((name, kind), NO_RANGES), refusal, whole)
        if new is not None:
            self._ranges[name, kind] = new

    def _excused(self, rule: SilenceRule, name: str, kind: InputKind) -> bool:
        """True if the rule leaves out a call; each oracle that requests the call logs that."""
        if is_loud(rule):
            return False
        self._why_not[name, kind] = Silence(rule.name, why=rule.excuses)
        return True

    def _always_too_large(self, name: str) -> bool:
        """True if a PrimFunc is too large for all arguments.

        If its tensors have fixed sizes and one call was too large, other arguments change little.
        """
        func = self._mod[name]
        if isinstance(func, tirx.PrimFunc) and iterations_of(func) > self._largest:
            return True
        if all(other != name for other, _ in self._too_large):
            return False
        if not isinstance(func, tirx.PrimFunc) or _has_symbolic_sizes(func):
            return False
        return all(isinstance(param.ty, tirx.BufferType) for param in func.params)

    def _reaches_prim_func(self, name: str) -> bool:
        return any(isinstance(self._mod[one], tirx.PrimFunc) for one in self.reached(name))

    def _moves_infinities(
        self, name: str, args: list[Any], result: Any, options: Mapping[str, Any]
    ) -> bool:
        """True if the infinities in the result of a PrimFunc are constants of it, as in a mask,
        that it stores, chooses and compares, but does not calculate with.

        Large numbers in their place then give the same result, with these numbers for infinities.
        """
        func = self._mod[name]
        if not isinstance(func, tirx.PrimFunc):
            return False
        if not any(math.isinf(constant.value) for constant in nodes(func, tirx.FloatImm)):
            return finite(result)  # nothing to put a large number in place of
        large = structural_map(func, [(tirx.FloatImm, _large)])
        mod = tvm.IRModule({**self._mod.functions, self._mod.get_global_var(name): large})
        try:
            other = Evaluator(mod, **options).run(name, copies(args))
        except (NoValue, Unsupported, Mismatch, Undefined):
            return False
        pairs = zip(leaves(result), leaves(other), strict=True)
        return finite(other) and all(_is_with_large(a, b) for (_, a), (_, b) in pairs)

    def _all_nonfinite(self, name: str) -> bool:
        """True if all operators called have references that define NaN and infinity.

        TensorIR's results for them are not documented.
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


FOR_INFINITY: Mapping[str, float] = {"float16": 2.0**15, "float32": 2.0**126, "float64": 2.0**126}
"""Numbers in place of infinity, by dtype."""


def _large(constant: tirx.FloatImm) -> tirx.FloatImm:
    """A large constant for an infinite one."""
    dtype = str(constant.ty.dtype)
    if not math.isinf(constant.value) or dtype not in FOR_INFINITY:
        return constant
    return tirx.FloatImm(dtype, math.copysign(FOR_INFINITY[dtype], constant.value))


def _is_with_large(value: Any, other: Any) -> bool:
    """True if the other value is the same, with a large number in place of each infinity."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return bool(np.array_equal(value, other))
    large = np.copysign(value.dtype.type(FOR_INFINITY[str(value.dtype)]), value)
    return bool(np.array_equal(np.where(np.isinf(value), large, value), other))


def _has_symbolic_sizes(func: relax.Function | tirx.PrimFunc) -> bool:
    if isinstance(func, tirx.PrimFunc):
        types = [param.ty for param in func.params]
        shapes = [ty.shape for ty in types if isinstance(ty, tirx.BufferType)]
        return any(nodes(dim, tirx.Var) for shape in shapes for dim in shape)
    return bool(relax.analysis.defined_symbolic_vars(func))


def _has_numbers(func: relax.Function | tirx.PrimFunc) -> bool:
    """True if a parameter is an integer."""
    types = (param.ty for param in func.params)
    return any(isinstance(ty, PrimType) and "int" in str(ty.dtype) for ty in types)


def _is_whole(ty: Any, fields: Path) -> bool:
    """True if the parameter, or the field of it, holds integers."""
    for field in fields:
        ty = ty.fields[field]
    return "int" in str(getattr(ty, "dtype", None))


def executes(func: relax.Function | tirx.PrimFunc) -> bool:
    """True if CPU builds are expected to run every operator of the function."""
    records = (table.get(op.removeprefix("relax.")) for op in ops_used(func))
    return all(record is None or record.executes for record in records)
