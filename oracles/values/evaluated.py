"""Evaluated semantics: the result of a pass computes the same as the module.

Both sides are evaluated in NumPy, on several sets of arguments, and compared by the contract's
relation. If they differ, the VM votes. If it cannot vote, a difference is only reported if rounding
cannot explain it and a second set of arguments shows it.

If the result has undefined behaviour and the module has none, they always differ. Compiled code
hides undefined behaviour, so the VM is only asked for the value of the module.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import tvm

from ...compat import ir
from ...compat.serialization import load_json, save_json
from ...generators.ops.record import Tolerance
from ...generators.stages import Stage
from ..catalogue import COMMON_PARTS, documented, parts
from ..checkers import flaw
from ..errors import Mismatch, TooLarge, Undefined, Unsupported
from ..expected.comparison import difference as compared
from ..expected.expectation import PRECISE, Expectation
from ..expected.relations import CallRelation
from ..identity import FailureKind
from ..inspect import nodes, prim_funcs
from ..oracle import Breach, Half, Halves, Oracle
from ..pace import of_result
from ..pass_runs import PassRuns, run_alone
from ..passcall import PassCall
from ..silence import inventory
from ..silence.inventory import of_error
from ..silence.log import excused, note, omit
from ..snippets.short_value_checks import both_sides, by_evaluator, refused
from ..snippets.value_comments import called
from ..structural.inside import parts_alone
from ..text import messages
from ..violation import Case, Violation
from ..vote import REFUSED, Vote, hidden, is_run_by_builds, vote
from . import blame
from .arithmetic_parts import WrongSubexpr, smallest_wrong
from .same_calls import SameCalls
from .sides import drawn_again, rule_of, sides, tolerance_of

MOST = 3
"""Number of calls in a reproducer."""

FAR = 100
"""Multiple of the tolerance beyond which rounding cannot explain a difference."""


REFUSES = "the result refuses arguments that the module takes"
"""The beginning of a key."""


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """The two sides of one call that differ."""

    before: Expectation
    after: Expectation
    wrong: str
    """The kind of difference and its description, e.g. "values: expected ... but got ..."."""
    undefined: bool = False
    """The result has undefined behaviour, which compiled code would hide."""
    overflows: bool = False
    """True if both sides agree when integers are unbounded."""

    @property
    def kind(self) -> str:
        """ "values", "shape", "dtype" or "structure"; or the kind of undefined behaviour."""
        kind = self.wrong.split(":", 1)[0]
        return messages.anonymous(kind) if self.undefined else kind

    @property
    def what(self) -> str:
        """The function and the kind, which other arguments must also show."""
        return f"{self.before.function} {self.kind}"


def evaluated(runs: PassRuns) -> Violation | None:
    """The first difference that the VM confirms; else one that rounding cannot explain.

    A difference in the VM takes precedence over undefined behaviour, which may have the same cause.
    """
    tolerance = tolerance_of(runs)
    unconfirmed: dict[str, ValueDifference] = {}
    found: tuple[ValueDifference, str] | None = None
    builds = functools.partial(is_run_by_builds, runs)
    for difference in differences(runs):
        before, after = difference.before, difference.after
        runs.step("ask the VM")
        if difference.undefined:
            verdict, remark = hidden(before, after, tolerance)
        else:
            verdict, reason = _voted(difference, tolerance, builds)
            remark = f"The VM cannot confirm it: {reason}"
        if verdict is Vote.SAME:
            if not difference.undefined:
                return _blaming(runs, difference, tolerance)
            found = found or (difference, remark)
            continue
        if verdict is Vote.OTHER and excused(inventory.REFUTED, difference.wrong):
            continue
        first = unconfirmed.setdefault(difference.what, difference)
        # A second set of arguments must show it.
        if _certain(difference, tolerance) and (
            first is not difference or _shows_again(runs, difference, tolerance)
        ):
            found = found or (first, remark)
            break
        if not excused(inventory.UNCONFIRMED_VALUE, difference.wrong):
            found = found or (first, remark)
    return None if found is None else _blaming(runs, found[0], tolerance, found[1])


def _voted(
    difference: ValueDifference,
    tolerance: Tolerance | None,
    builds: Callable[[], bool] = lambda: False,
) -> tuple[Vote, str]:
    before, after = difference.before, difference.after
    if before.foreign:
        ops = ", ".join(sorted(before.foreign))
        return Vote.NONE, f"compiled code may give anything for the operands of {ops}"
    narrowed = _is_narrower(after.mod, before.mod) and after.overflows
    open_ = difference.overflows or bool(after.foreign)
    return vote(before, after, tolerance, builds=builds, open_=open_, narrowed=narrowed)


def _is_narrower(after: tvm.IRModule, before: tvm.IRModule) -> bool:
    """True if PrimFuncs of the result add in a narrower type than the module does."""
    old = _added(before)
    bits = [tvm.DataType(dtype).bits for dtype in old]
    return any(tvm.DataType(new).bits < max(bits, default=0) for new in _added(after) - old)


def _shows_again(runs: PassRuns, difference: ValueDifference, tolerance: Tolerance | None) -> bool:
    """True if other numbers of the same kind show it, too.

    The kind must be the same, since an error on negative numbers only, e.g. in a reduction, shows
    on no other kind.
    """
    other = drawn_again(runs, difference.before)
    again = None if other is None else _compared(*other, tolerance)
    if again is None or _is_of_simplifier(runs, again):
        return False
    return again.what == difference.what and _certain(again, tolerance)


def _blaming(
    runs: PassRuns, difference: ValueDifference, tolerance: Tolerance | None, *notes: str
) -> Violation:
    """The violation by the pass, or by an inner pass that makes a difference by itself."""
    culprit = _inside(runs)
    part = None
    if _treats_expressions(runs):
        part = smallest_wrong(difference.before, runs.call)
    found = _violation(difference, culprit or runs.call.name, tolerance, *notes, part=part)
    return replace(found, pass_name=culprit or "")


def _treats_expressions(runs: PassRuns) -> bool:
    """True if the pass changes each stored value and each condition separately."""
    return Stage.EXPRESSIONS in runs.contract.stages


def _inside(runs: PassRuns) -> str | None:
    """The name of a common inner pass that changes values when run alone on the module."""
    # The inner passes of a user's own pass are not known.
    among = parts(runs.call.name) if documented(runs.call) else COMMON_PARTS
    for name, alone in parts_alone(runs, among):
        if next(differences(alone), None) is not None:
            return name
    return None


def differences(runs: PassRuns) -> Iterator[ValueDifference]:
    """Yields the calls whose two sides differ when they are evaluated."""
    tolerance = tolerance_of(runs)
    for e, side in sides(runs, partial=True):
        if _makes_the_same_calls(runs, e):
            continue
        difference = _compared(e, side, tolerance)
        if difference is None:
            continue
        if _is_of_simplifier(runs, difference) and excused(inventory.OVERFLOW, difference.wrong):
            continue
        yield difference


def _makes_the_same_calls(runs: PassRuns, e: Expectation) -> bool:
    """True if the result need not be evaluated: it is proved to compute the same."""
    rule, after = rule_of(runs), runs.direct.mod
    if rule is None or after is None:
        return False
    name = e.function
    if rule.arguments is not None or rule.sizes is not None or rule.otherwise(name) is not None:
        return False
    if name not in runs.same_calls:
        known = runs.given.same_calls
        if name not in known:
            known[name] = SameCalls(runs.mod, name)
        runs.same_calls[name] = known[name].made_by(after, name)
    return runs.same_calls[name]


def _compared(
    e: Expectation, side: Expectation, tolerance: Tolerance | None
) -> ValueDifference | None:
    side.result = REFUSED
    try:
        with of_result():
            side.result = side.value()
    except Unsupported as error:
        if isinstance(error, TooLarge):
            omit("values in NumPy")
        else:
            note(of_error(error), f"of the result: {messages.headline(str(error))}")
        return None
    except Mismatch as error:
        return ValueDifference(e, side, f"results (the result refuses its arguments): {error}")
    except Undefined as error:
        if e.overflows and excused(inventory.OVERFLOW, str(error)):
            return None
        if e.partial and excused(inventory.OPEN, str(error)):
            return None
        return ValueDifference(e, side, str(error), undefined=True)
    except Exception:
        if flaw(side.mod) is None:
            raise
        note(inventory.EXPLAINED, "the result is ill-formed")
        return None
    wrong = e.differs(side.result, tolerance) or _wraps(e, side, tolerance)
    if wrong is None and tolerance is None:
        # The VM may use its own approximations, so only the evaluator is compared in all digits.
        e = e.precisely()
        wrong = e.differs(side.result)
    if wrong is None:
        return None
    # An operator gives the same for the same operands, whatever that is. So the result is arbitrary
    # only if the pass has replaced one.
    if e.foreign and side.foreign != e.foreign and excused(inventory.OPEN, wrong):
        return None
    return ValueDifference(e, side, wrong, overflows=_only_overflows(e, side, tolerance))


def _only_overflows(e: Expectation, side: Expectation, tolerance: Tolerance | None) -> bool:
    """True if the result's PrimFuncs compute the same integers, in types that may overflow.

    A type that a pass has narrowed must still be wide enough.
    """
    if _added(side.mod) - _added(e.mod):
        return False
    try:
        return e.differs(side.in_whole_numbers, tolerance) is None
    except (Unsupported, Mismatch, Undefined):
        return False


def _wraps(e: Expectation, side: Expectation, tolerance: Tolerance | None) -> str | None:
    """A difference that shows if scalar parameters wrap around in the result."""
    if not any(isinstance(arg, int) and not isinstance(arg, bool) for arg in e.args):
        return None
    try:
        value = side.wrapped_around
    except (Unsupported, Mismatch, Undefined):
        return None
    wrong = e.differs(value, tolerance)
    if wrong is not None:
        side.result = value
    return wrong


def _is_of_simplifier(runs: PassRuns, difference: ValueDifference) -> bool:
    """True if TVM's simplifier may have introduced the overflow.

    It assumes that the int32 and int64 expressions that it makes stay in range, e.g. when
    `x - max(x, y)` becomes `min(0, x - y)` (src/sym/rewrite_simplify.cc: 'signed-overflow-is-UB
    lets those rules assume no wraparound').
    """
    if not difference.overflows:
        return False
    if _treats_expressions(runs):
        return True
    try:
        return _is_simplified(difference.before, difference.after)
    except (Unsupported, Mismatch, Undefined):
        return False


SIMPLIFIER = PassCall("tirx.transform.StmtSimplify()")


def _is_simplified(e: Expectation, side: Expectation) -> bool:
    """True if the simplifier alone causes the same wrong elements as in the result."""
    mod = SIMPLIFIER.run(e.mod)
    alone = Expectation(mod, e.function, e.args, None, e.kind, wraps=True).wrapped_around
    return compared(e.result, side.result, (alone,)) is None


def _added(mod: tvm.IRModule) -> set[str]:
    """The dtypes of sums, differences and products in PrimFuncs."""
    sums = (ir.Add, ir.Sub, ir.Mul)
    return {str(node.ty.dtype) for _, func in prim_funcs(mod) for node in nodes(func, *sums)}


def _certain(difference: ValueDifference, tolerance: Tolerance | None) -> bool:
    """True if rounding cannot explain it: integers, exact data, or a far too large difference."""
    e, result = difference.before, difference.after.result
    if result is REFUSED or difference.kind != "values" or (tolerance is None and e.exact):
        return True
    bounds = tolerance or (PRECISE if e.precise else Tolerance())
    far = replace(
        bounds,
        float16=FAR * bounds.float16,
        float32=FAR * bounds.float32,
        float64=FAR * bounds.float64,
    )
    if tolerance is not None:
        return e.differs(result, far) is not None
    shaken = e.shaken(FAR)
    return shaken is not None and compared(e.result, result, shaken, far) is not None


def _violation(
    difference: ValueDifference,
    blamed: str,
    tolerance: Tolerance | None,
    *notes: str,
    part: WrongSubexpr | None = None,
) -> Violation:
    if part is not None:
        notes = (*notes, part.text)
    detail = "\n".join([f"{difference.before.function}: {difference.wrong}", *notes])
    if difference.undefined:
        what = f"the result does what has no meaning: {difference.kind}"
        return Violation.titled(what, detail)
    if difference.after.result is REFUSED:
        what = REFUSES
        op = blame.mistyped(difference.before)
        if op is not None:
            what += f", since {op} {messages.MISTYPED}"
        return Violation.titled(what, detail)
    if part is not None:
        where = part.kind
    else:
        where = blame.first_difference(difference.before, difference.after, tolerance)
    key = (difference.kind, where)
    title = f"the result computes other {difference.kind} than the module, starting with {where}"
    return Violation(title, detail, key)


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """Python for one call, in the VM if that shows the difference."""
    shown = _shown(case)
    if shown is None:
        return
    for difference in shown.differences:
        e = difference.before
        call = shown.rule.text(e.function)
        if not shown.by_machine and difference.after.foreign:
            return  # `evaluate` gives no result
        if not shown.by_machine:
            raises = difference.undefined or difference.after.result is REFUSED
            yield from by_evaluator(e, call, shown.tolerance, raises=raises)
        elif difference.after.result is REFUSED:
            yield from refused(e, call, shown.after)
        else:
            yield from both_sides(e, call, shown.tolerance, shown.after)


@dataclass(frozen=True, slots=True)
class _Shown:
    differences: list[ValueDifference]
    by_machine: bool
    rule: CallRelation
    tolerance: Tolerance | None
    after: tvm.IRModule | None


def _shown(case: Case) -> _Shown | None:
    """The differences that the VM shows; else those that the evaluator shows."""
    runs = run_alone(case.mod, *case.calls)
    found = list(itertools.islice(differences(runs), MOST))
    if not found:
        return None
    rule = rule_of(runs)
    assert rule is not None, f"{runs.call} has no rule for {runs.contract.relation}"
    tolerance = tolerance_of(runs)
    seen = [d for d in found if _voted(d, tolerance)[0] is Vote.SAME]
    return _Shown(seen or found, bool(seen), rule, tolerance, runs.direct.mod)


def _halves(case: Case, violation: Violation) -> Halves | None:
    name = case.calls[0].name
    before = load_json(save_json(case.mod))
    shown = _shown(case)
    if shown is None:
        return None
    found = shown.differences[0]
    e, result = found.before, found.after.result
    if found.undefined or result is REFUSED:
        result = messages.headline(found.wrong.removeprefix("results "))
    return (
        Half(f"before {name}", before, called(e.function, e.args, e.result)),
        Half(f"after {name}", shown.after, called(e.function, e.args, result)),
    )


ORACLE = Oracle(
    name="evaluated",
    breach=Breach(FailureKind.VALUES),
    tier=3,
    promise="A pass changes how a module computes, not what.",
    source="docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally "
    "equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'",
    check=evaluated,
    brief=_brief,
    halves=_halves,
)
