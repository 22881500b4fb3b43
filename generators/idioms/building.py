"""Turn patterns into bindings: records make the calls, and are steered to the wanted operands.

A pattern is built from its last call inwards. When the record of an operator requests an operand
that the pattern makes by another call, that call is built then, so that it can aim at the
requested dtype, rank and shape. The result may still not fit: then that call is retried with other
decisions, then the record around it with other decisions; at last the record takes any other
operand, and the pattern is not whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import tvm_ffi
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..ops import table
from ..ops.variation import Variation, accepted, operands_of
from ..scope import Scope, Supplier
from ..traits import Trait
from ..values import Dim, OperandRequest, Value, latest, same_shape
from .aims import (
    AGREEING,
    BROADCASTING,
    PROBE,
    Goal,
    aim_of,
    bias_shape,
    both,
    field_like,
    fresh_shape,
    like,
    relaxed,
    turned_round,
)
from .pattern import Leaf, Pattern, PatternNode, Tree, calls

CALL = 20
"""Bytes for the decisions of one call's record. Attributes come last, and are the simplest ones if
no bytes are left."""

EARLY = 0.08
"""The share of patterns that end before their last call, because incomplete matches matter too."""

LINKED = 0.1
"""The share of results with a link before the next call."""

SWAPPED, EQUAL = 0.15, 0.04
"""The shares of calls whose two operands are swapped, or are one value."""

ALIKE = 0.25
"""The share of calls that get the attributes of the same operator before; passes merge these."""

RELATED = 0.3
"""The share of calls whose other operands are related to the first one: they are the other fields
of its tuple, or operands of the call that makes it."""

TRIES = 5
"""The most attempts of a record until its operands fit."""

REBUILDS = 4
"""The most builds of a call until its result fits."""

ALTERNATIVES, STRIDE = 3, 5
"""The number of alternative operators to try, and the step between them: neighbours are alike."""

BUDGET = 8
"""The most attempts for one whole pattern."""


@dataclass(frozen=True, slots=True)
class Link:
    """A construct between two calls of a pattern."""

    name: str
    emit: Callable[[Choices, Scope], object] | None = None
    """Emits bindings that use the value as the first operand it fits; None: see `passed_on`."""
    trait: Trait | None = None
    dataflow: bool = True
    """True if a dataflow block may contain it."""
    aside: bool = False
    """True if it uses the value, but the pattern continues with the value itself."""


CAST = Link("cast")
TUPLE = Link("tuple", trait=Trait.TUPLES)
TWICE = Link("twice")
RETURNED = Link("returned")
BLOCK = Link("block", trait=Trait.NON_DATAFLOW)
OWN = (RETURNED, TWICE, CAST, TUPLE, BLOCK)
"""Function result; same call twice; casts there and back; tuple; end of a block."""

WIDER = {"float32": "float64", "float16": "float32", "int32": "int64", "int8": "int32"}
"""A wider dtype for each: a cast to it and back changes nothing."""

_SOURCES = {
    **dict.fromkeys("WVU", "weight"),
    **dict.fromkeys("B", "bias"),
    **dict.fromkeys("CDEF", "constant"),
    **dict.fromkeys("ST", "scalar"),
}
"""The source of the operand that a letter denotes; see `pattern.py`."""

_SCALARS = (1, 0, 2, -1, None)
"""Scalars; None: any scalar, e.g. a fraction next to a number that a pass looks for."""


class Misfit(Exception):
    """The operand at hand does not meet the record's request."""


SWAPPING = BROADCASTING - {"where"} | {"matmul"}
"""Operators whose operands may be swapped."""


class CallPlan(NamedTuple):
    """Decisions about one call that are made beforehand."""

    ops: Sequence[str]
    """The operators to try, in order."""
    stray: int
    """A byte that decides if the pattern ends before this call, and if a link follows it."""
    link: int
    swapped: bool
    equal: bool
    alike: bool
    related: bool
    decisions: Choices
    """The decisions of the record."""


@dataclass(slots=True)
class Offer:
    """Gives a value to the first operand that it fits."""

    value: Value
    taken: bool = False

    def __call__(self, c: Choices, s: Scope, request: OperandRequest) -> Value | None:
        if self.taken or not request.fits(self.value):
            return None
        self.taken = True
        return self.value


@dataclass(slots=True)
class Builder:
    """Builds one pattern in a scope."""

    c: Choices
    s: Scope
    links: Callable[[], Sequence[Link]] = tuple
    names: dict[str, Value | relax.Var] = field(default_factory=dict)
    whole: bool = True
    """True if all calls so far have the operands of the pattern."""
    linked: list[str] = field(default_factory=list)
    """The names of the links between calls."""
    _plans: dict[int, CallPlan] = field(default_factory=dict)
    _budget: int = BUDGET

    def emit(self, pattern: Pattern) -> None:
        """Bind all the calls of a pattern."""
        for name, expr in self._steps(pattern):
            var = self.s.bind(expr)
            if name is not None:
                self.names[name] = latest(self.s.values, var) or var

    def last(self, pattern: Pattern) -> relax.Expr:
        """The last call of a pattern, not bound yet; all others are."""
        self.emit(pattern[:-1])
        *_, (_, expr) = self._steps(pattern[-1:])
        return expr

    def _steps(self, pattern: Pattern) -> Iterator[tuple[str | None, relax.Expr]]:
        for call in calls(pattern):
            self._plans[call.number] = _plan(self.c.again(call.number + 1), call)
        exporting, device = self.s.exporting, self.s.device
        for step in pattern:
            tree = step.tree
            while step is pattern[-1] and self._plans[tree.number].stray >= 256 * (1 - EARLY):
                inner = next((x for x in tree.operands if isinstance(x, PatternNode)), None)
                if inner is None:
                    break
                tree = inner
            self.s.exporting = False  # a pass that needs intermediate results matches no pattern
            plan = self._plans[tree.number]
            expr = self._call(tree, plan, plan.decisions, None, spine=True)
            expr = self._like_the_one_before(expr) if plan.alike else expr
            self.s.exporting = exporting
            yield step.name, expr
        self.s.device = device

    def _like_the_one_before(self, expr: relax.Expr) -> relax.Expr:
        """A copy of the call that makes the first operand, applied to that operand."""
        if isinstance(expr, relax.Call) and expr.args:
            before = next((b for b in self.s.bound() if b.var.same_as(expr.args[0])), None)
            call = getattr(before, "value", None)
            if isinstance(call, relax.Call) and call.op.same_as(expr.op):
                found = accepted(self.s, call, Variation({(0,): expr.args[0]}))
                return expr if found is None else found[0]
        return expr

    def _call(
        self,
        node: PatternNode,
        plan: CallPlan,
        decisions: Choices,
        goal: Goal | None,
        *,
        spine: bool,
        first: int = 0,
    ) -> relax.Expr:
        """The call of an operator, whose operands come from the pattern.

        `first` is the index of the first of the plan's operators to try.
        """
        s, operands = self.s, node.operands
        if plan.swapped and SWAPPING.issuperset(node.ops):
            first_operand = (Leaf(f"X{node.number}"),) if len(operands) == 1 else ()
            operands = (*first_operand, *operands[::-1])
        name = plan.ops[0]
        given: dict[int, Value | None] = {}
        known = set(self.names)
        good = s.state()
        asked, final = 0, False

        def supply(at: int, c: Choices, request: OperandRequest) -> Value | None:
            nonlocal asked, good
            asked += 1
            tree = operands[at]
            before = [given[i] for i in range(at)]
            others = [v.shape for v in before if v is not None and v.shape is not None]
            rule = AGREEING.get(name)
            if rule and request.shape is not None and 0 < at == len(others):
                request = relaxed(request, others, rule)
            if at not in given or (isinstance(tree, Leaf) and tree.name not in known):
                lhs = given.get(0)
                aim = self._known_goal(operands, given, number) if number else None
                aim = goal if at == 0 and goal is not None else aim
                if isinstance(tree, PatternNode):
                    device = s.device
                    value = self._operand(tree, c, request, aim, spine=spine and at == 0)
                    s.device = device  # the device of the operands before this one
                    known.update(self.names)
                elif plan.equal and at == 1 and lhs is not None and request.fits(lhs):
                    value = lhs
                else:
                    value = self._leaf(tree, c, request, aim, others)
                given[at] = value
                good = s.state()
            value = given[at]
            if value is not None and self._alive(value):
                if request.fits(value):
                    return value
                if value.vdevice is not None and not final:
                    s.device = value.vdevice  # values computed from it are on its device
            if not final:
                raise Misfit
            given[at] = None
            return None

        suppliers = [_supplier(supply, at) for at in range(len(operands))]
        for number in range(TRIES):
            self._budget -= 1
            final = number == TRIES - 1 or self._budget <= 0
            asked = 0
            name = plan.ops[(first + number // 2) % len(plan.ops)]
            s.next_operands = suppliers
            try:
                expr = table[name].build(decisions.again(number), s)
            except Misfit:
                asked = -1
            finally:
                s.next_operands = ()
            if asked >= len(operands) or final:
                break
            s.restore(good)
            self.names = {name: value for name, value in self.names.items() if name in known}
        self.whole &= asked >= len(operands) and None not in given.values()
        if plan.related and len(operands) == 1 and isinstance(expr, relax.Call):
            return self._with_related(expr, decisions.again(TRIES))
        return expr

    def _with_related(self, call: relax.Call, c: Choices) -> relax.Call:
        """The call with related values in place of operands of their types.

        A literal tuple becomes all fields of the tuple that its first field comes from.
        """
        s = self.s
        if not call.args:
            return call
        listed = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else ()
        first = listed[0] if listed else call.args[0]
        value = next((b.value for b in s.bound() if b.var.same_as(first)), None)
        changed: dict[tuple[int, ...], relax.Expr] = {}
        if listed and isinstance(value, relax.TupleGetItem):
            source, count = value.tuple_value, len(value.tuple_value.ty.fields)
            start = c.below(count)
            order = [(start + at) % count for at in range(count)]
            order = order[::-1] if c.flag(0.3) else order
            changed[0,] = relax.Tuple([s.bind(relax.TupleGetItem(source, at)) for at in order])
        elif isinstance(value, relax.Call):
            for place, arg in operands_of(call.args):
                alike = [x for x in value.args if tvm_ffi.structural_equal(x.ty, arg.ty)]
                if not arg.same_as(first) and alike and c.flag(0.7):
                    changed[place] = c.pick(alike)
        found = accepted(s, call, Variation(changed)) if changed else None
        return call if found is None else found[0]

    def _known_goal(
        self, operands: Sequence[Tree], given: Mapping[int, Value | None], number: int
    ) -> Goal | None:
        """A goal that may suit an operand that is known: its shape, or the reversed shape."""
        for at, tree in enumerate(operands):
            value = given.get(at) if isinstance(tree, PatternNode) else self.names.get(tree.name)
            if isinstance(tree, Leaf) and isinstance(value, relax.Var):
                value = field_like(value, tree.field or 0)
            if isinstance(value, Value) and value.shape is not None and value.dtype is not None:
                shape = value.shape if number % 2 else value.shape[::-1]
                return Goal(shape, (value.dtype,))
        return None

    def _operand(
        self,
        node: PatternNode,
        c: Choices,
        request: OperandRequest,
        goal: Goal | None,
        *,
        spine: bool,
    ) -> Value | None:
        """A value that the call makes, built for this request."""
        s = self.s
        plan = self._plans[node.number]
        body = plan.decisions
        link = self._link(plan, spine)
        outlives = link is not None and (link in (RETURNED, BLOCK) or not link.dataflow)
        exporting = s.exporting
        dims = s.dims
        start = s.state(), dict(self.names), list(self.linked), self.whole
        aim = goal or aim_of(s, c, request)
        free = goal is None and request.shape is None and request.where is None
        hints = [None, aim] if free else [aim]
        exact = goal is not None or request.shape is not None
        if exact and aim.shape is not None and 2 < len(aim.shape) > len(set(aim.shape)):
            # If all dims differ, the result shows where each of them went.
            hints = [Goal(PROBE[: len(aim.shape)], aim.dtypes)]
        value: Value | None = None
        turned: Goal | None = None
        hint: Goal | None
        at = -1
        for number in range(REBUILDS):
            if turned is not None:
                hint = turned
            else:
                hint = hints.pop(0) if hints else aim
                at += 1
            if number:
                s.restore(start[0])
                self.names, self.linked, self.whole = dict(start[1]), list(start[2]), start[3]
            if hint is not None and hint.shape:
                ints = [d for d in dims if isinstance(d, int)][:1]
                s.dims = (*dict.fromkeys(hint.shape), *ints)
            expr = self._call(node, plan, body.again(at), hint, spine=spine, first=at)
            s.dims = dims
            s.exporting = exporting or outlives
            value = self._bound(expr, node.field, body.again())
            s.exporting = exporting
            self._budget -= 1
            if value is not None and request.fits(value):
                if goal is None or goal.shape is None or at > 0:
                    break
                if value.shape is not None and same_shape(value.shape, goal.shape):
                    break
            if self._budget <= 0:
                break
            turned = None if turned or hint is None else turned_round(hint, value, aim)
        if value is None or not request.fits(value):
            return value
        return value if link is None else self.passed_on(link, value, expr, request, body.again(2))

    def _bound(self, expr: relax.Expr, at: int | None, c: Choices) -> Value | None:
        var = self.s.bind(expr)
        if isinstance(var.ty, relax.TupleType):
            if not len(var.ty.fields):
                return None
            at = c.field(len(var.ty.fields)) if at is None else at % len(var.ty.fields)
            var = self.s.bind(relax.TupleGetItem(var, at))
        return latest(self.s.values, var)

    def _alive(self, value: Value) -> bool:
        """True if the value is still in scope."""
        if not isinstance(value.expr, relax.DataflowVar):
            return True
        return any(value is each for each in self.s.values)

    # Operands from outside

    def _leaf(
        self,
        leaf: Leaf,
        c: Choices,
        request: OperandRequest,
        goal: Goal | None,
        others: Sequence[tuple[Dim, ...]],
    ) -> Value | None:
        found = self.names.get(leaf.name)
        if isinstance(found, relax.Var):
            return self._field(found, leaf.field or 0)
        if found is not None:
            return found
        value = self._outside(leaf.name[0], c, request, goal, others)
        self.names[leaf.name] = value
        return value

    def _field(self, var: relax.Var, at: int) -> Value | None:
        if isinstance(var, relax.DataflowVar) and not any(var is each for each in self.s.tuples):
            return None
        fields = len(var.ty.fields) if isinstance(var.ty, relax.TupleType) else 0
        if not fields:
            return None
        return latest(self.s.values, self.s.bind(relax.TupleGetItem(var, at % fields)))

    def _outside(
        self,
        letter: str,
        c: Choices,
        request: OperandRequest,
        goal: Goal | None,
        others: Sequence[tuple[Dim, ...]],
    ) -> Value:
        s = self.s
        if goal is None and letter not in _SOURCES:
            return s.operand(c, request)
        shape, dtypes = goal or (None, None)
        dtype = s.dtype(c, both(request.dtypes, dtypes))
        source = _SOURCES.get(letter)
        if source == "bias" and others:
            shape = bias_shape(c, max(others, key=len))
        elif source == "scalar":
            shape = ()
        if shape is None or not request.fits(like(shape, dtype)):
            shape = fresh_shape(s, c, request)
        static = [dim for dim in shape if isinstance(dim, int)]
        if len(static) < len(shape) or 0 in static or dtype == "bfloat16":
            return s.fresh(c, shape, dtype)
        if source == "scalar":
            value = c.pick(_SCALARS)
            if value is not None and (value >= 0 or not dtype.startswith("u")):
                return s.constant(c, static, dtype, low=value, high=value)
        if source in ("constant", "scalar"):
            return s.constant(c, static, dtype)
        if source is None:
            for each in reversed(s.values):
                if (
                    each.dtype == dtype
                    and each.shape is not None
                    and same_shape(each.shape, shape)
                    and request.fits(each)
                ):
                    return each
        return s.fresh(c, shape, dtype)

    # Between calls

    def _link(self, plan: CallPlan, spine: bool) -> Link | None:
        if plan.stray < 256 * (1 - LINKED):
            return None
        fit = self.fitting(spine=spine)
        return fit[plan.link % len(fit)]

    def fitting(self, *, spine: bool) -> list[Link]:
        """The links that may stand here; `spine` includes links that end a dataflow block."""
        s = self.s
        return [
            link
            for link in (*OWN, *self.links())
            if (link.trait is None or s.has(link.trait))
            and (spine or (link is not BLOCK and (link.dataflow or not s.in_dataflow)))
        ]

    def passed_on(
        self, link: Link, value: Value, expr: relax.Expr, request: OperandRequest, c: Choices
    ) -> Value:
        """The value, or the result of the link on it."""
        s = self.s
        self.linked.append(link.name)
        if link is RETURNED:
            return value
        if link is TWICE:
            s.bind(expr)
            return value
        if link is BLOCK:
            on = s.in_dataflow
            s.close()
            s.dataflow(on)
            return value
        if link is TUPLE:
            pair = s.bind(relax.Tuple([value.expr, s.operand(c, request).expr]))
            return self._field(pair, 0) or value
        if link is CAST:
            wider = WIDER.get(value.dtype or "")
            if wider is None:
                return value
            there = s.emit(relax_op.astype(value.expr, wider))
            return s.emit(relax_op.astype(there.expr, value.dtype))
        return self._through(link, value, request, c)

    def _through(self, link: Link, value: Value, request: OperandRequest, c: Choices) -> Value:
        s = self.s
        on = s.in_dataflow
        if on and not link.dataflow:
            s.dataflow(False)
        offer = Offer(value)
        s.next_operands = (offer, offer, offer)
        assert link.emit is not None
        link.emit(c, s)
        s.next_operands = ()
        if on and not link.dataflow:
            s.dataflow(True)
        made = s.values[-1] if s.values else value
        if link.aside or not offer.taken or not request.fits(made) or not self._alive(made):
            return value
        return made


def _plan(c: Choices, node: PatternNode) -> CallPlan:
    stray, first, link, order = c.below(256), c.below(len(node.ops)), c.below(256), c.below(256)
    ops = [node.ops[(first + STRIDE * at) % len(node.ops)] for at in range(ALTERNATIVES)]
    swapped, equal = order >= 256 * (1 - SWAPPED), 1 <= order <= 256 * EQUAL
    alike = 256 * EQUAL < order <= 256 * (EQUAL + ALIKE)
    related = 256 * (EQUAL + ALIKE) < order <= 256 * (EQUAL + ALIKE + RELATED)
    return CallPlan(ops, stray, link, swapped, equal, alike, related, c.part(CALL))


def _supplier(supply: Callable[[int, Choices, OperandRequest], Value | None], at: int) -> Supplier:
    return lambda c, s, request: supply(at, c, request)
