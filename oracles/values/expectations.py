"""Calls of the functions of one module with their results, for arguments of each kind."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import PrimType

from ...generators.ops import table
from ..errors import Mismatch, NoResult, NoValue, TooLarge, Undefined, Unsupported
from ..evaluate import Evaluator
from ..execute.kernels import iterations_of
from ..inspect import entries, global_vars, nodes, ops_used
from ..keys import computes
from ..liveness import live_variables
from ..silence import inventory
from ..silence.inventory import RULES, of_error
from ..silence.log import Silence, is_loud, note, omit
from ..silence.rule import SilenceRule
from ..tensorir import has_callees, kernels_of
from ..text.messages import headline
from ..violation import Journal, silent
from .accepted import NO_RANGES, Path, Ranges, described, narrowed, refused
from .comparison import finite, leaves
from .expectation import Expectation, copies
from .inputs import EXTREMES, TRIES, Kind, drawn, has_indices, parameters_of
from .relations import Rule

PLAIN = (Kind.WHOLE, Kind.POSITIVE)
"""Draws that are enough where every one costs a run in the VM and lines in a reproducer."""

NARROWED = 6
"""Times that the values of a parameter are kept in a smaller range, for one kind of arguments."""

_PLAIN = [(number, kind) for number, kind in enumerate(Kind) if kind in PLAIN]
"""With their seeds."""


ENOUGH = 5.0
"""Seconds of CPU after which no further kinds of arguments are evaluated for a module: one of a
whole network takes a second for each, and as much again for each pass that changes it."""


class Expectations:
    """Calls of the functions of one module, each evaluated when it is asked for."""

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
        self._ranges: dict[tuple[str, Kind], Ranges] = {}
        """The values that were found to be accepted."""
        self._refused: dict[tuple[str, Kind], str] = {}
        """The parameter that is to blame for there being no call, and the reason."""
        self._spent = 0.0
        """Seconds of CPU, for calls of which there is a value."""

    def of(
        self,
        name: str,
        rule: Rule | None = None,
        kinds: Sequence[Kind] = tuple(Kind),
        journal: Journal = silent,
        *,
        partial: bool = False,
    ) -> Iterator[Expectation]:
        """Calls of a function that the evaluator knows.

        NaN and infinity come up only where every operator defines what it makes of them.

        Args:
            rule: may choose other arguments.
            kinds: of arguments, in the order in which they are tried.
            journal: is told before each evaluation.
            partial: calls that compute something undefined that their results do not depend on,
                too.
        """
        own = rule is not None and (rule.arguments is not None or rule.sizes is not None)
        for kind in kinds:
            if self._spent > ENOUGH and (own or (name, kind) not in self._known):
                note(inventory.NO_TIME, str(kind))
                continue
            if own:
                made = self._made(name, rule, kind, journal)
            else:
                if (name, kind) not in self._known:
                    self._known[name, kind] = self._made(name, rule, kind, journal)
                made = self._known[name, kind]
            if made is not None:
                if partial or not made.partial:
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

    @property
    def undefined(self) -> str | None:
        """The first reason of `no_arguments`, of all functions that are called from outside."""
        names = (str(gvar.name_hint) for gvar, _ in entries(self._mod))
        return next(filter(None, map(self.no_arguments, names)), None)

    def no_arguments(self, name: str) -> str | None:
        """The reason for which no kind of arguments is defined, as far as that is why there are no
        calls of a function that was asked for."""
        kinds = [kind for kind in Kind if (name, kind) in self._why_not]
        if not kinds or any(self._known.get((name, kind)) for kind in Kind):
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
        """The result of a Relax function does not depend on variables with these hashes."""
        if not isinstance(self._mod[name], relax.Function):
            return False
        funcs = [self._mod[one] for one in self.reached(name)]
        live = (live_variables(func) for func in funcs if isinstance(func, relax.Function))
        return all(map(variables.isdisjoint, live))

    def _made(
        self, name: str, rule: Rule | None, kind: Kind, journal: Journal
    ) -> Expectation | None:
        """The first draw for which the function is defined."""
        if self._always_too_large(name):
            self._too_large.add((name, kind))
            return None
        first = list(Kind).index(kind)
        tries = TRIES if kind in EXTREMES else 2 if _has_numbers(self._mod[name]) else 1
        self._ranges[name, kind] = NO_RANGES
        left = NARROWED
        turn = 0
        while turn < tries:
            journal("evaluate")
            ranges = self._ranges[name, kind]
            began = time.process_time()
            made = self._drawn(name, rule, kind, first + turn * len(Kind))
            if made is not None:
                self._spent += time.process_time() - began
                for reasons in (self._why_not, self._refused):
                    reasons.pop((name, kind), None)
                return made
            if (name, kind) in self._too_large:
                break
            if left and self._ranges[name, kind] is not ranges:
                left -= 1
            else:
                turn += 1
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
        odd: set[int] = set()

        def watch(var: relax.Var, value: Any) -> None:
            if not (callable(value) or finite(value)):
                odd.add(hash(var))

        try:
            if kind is Kind.EMPTY and not (_has_symbolic_sizes(func) or _has_numbers(func)):
                return None
            if kind is Kind.OUTSIDE and not has_indices(func):
                return None
            sizes = rule.sizes(name) if rule and rule.sizes else None
            args = drawn(func, kind, seed, sizes, self._ranges.get((name, kind), NO_RANGES))
            if rule is not None and rule.arguments is not None:
                args = rule.arguments(name, args)
            evaluator = Evaluator(self._mod, watch, promised=promised)
            result = evaluator.run(name, copies(args))
        except NoValue as error:
            self._why_not[name, kind] = Silence(of_error(error).name, why=headline(str(error)))
            if self._is_defined_behind(name, args):
                self._valueless[name, kind] = e = Expectation(self._mod, name, args, None, kind)
                e.valued = False
            return None
        except (Unsupported, Mismatch, Undefined) as error:
            text = f"{type(error).__name__}: {headline(str(error))}"
            self._why_not[name, kind] = Silence(of_error(error).name, why=text)
            self._narrow(name, kind, error)
            if isinstance(error, TooLarge):
                self._too_large.add((name, kind))
            return None
        if evaluator.misused and self._excused(inventory.MISUSED, name, kind):
            return None
        unused = bool(odd) and self._depends_on_none(name, odd)
        usual = not odd or unused
        # Operators refuse themselves what they define nothing for; PrimFuncs take anything.
        defined = usual or nonfinite or not self._reaches_prim_func(name)
        if not defined and self._excused(inventory.NOT_FINITE, name, kind):
            return None
        if any(callable(leaf) for _, leaf in leaves(result)):
            return None
        made = Expectation(self._mod, name, args, result, kind)
        made.finite = usual
        made.partial = evaluator.partial or unused
        made.promised = promised
        return made

    def _is_defined_behind(self, name: str, args: list[Any]) -> bool:
        """Behind an operator without a value, the function does nothing that has no meaning."""
        try:
            Evaluator(self._mod, valued=False).run(name, copies(args))
        except (Unsupported, Mismatch, Undefined):
            return False
        return True

    def _narrow(self, name: str, kind: Kind, error: NoResult) -> None:
        """Keep the parameters that are to blame in a smaller range from here on."""
        refusal = None if kind is Kind.OUTSIDE else refused(self._mod, name, error)
        self._refused.pop((name, kind), None)
        if refusal is None:
            return
        params = parameters_of(self._mod[name])
        self._refused[name, kind] = described(params, name, refusal)
        whole = [path for path in refusal.paths if _is_whole(params[path[0]].ty, path[1:])]
        new = narrowed(self._ranges.get((name, kind), NO_RANGES), refusal, whole)
        if new is not None:
            self._ranges[name, kind] = new

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

    def _reaches_prim_func(self, name: str) -> bool:
        return any(isinstance(self._mod[one], tirx.PrimFunc) for one in self.reached(name))

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


def _is_whole(ty: Any, fields: Path) -> bool:
    """The parameter, or the field of it, holds integers."""
    for field in fields:
        ty = ty.fields[field]
    return "int" in str(getattr(ty, "dtype", None))


def executes(func: relax.Function | tirx.PrimFunc) -> bool:
    """Every operator is one that CPU builds are expected to run."""
    records = (table.get(op.removeprefix("relax.")) for op in ops_used(func))
    return all(record is None or record.executes for record in records)
