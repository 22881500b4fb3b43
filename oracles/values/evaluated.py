"""Evaluated semantics: the result of a pass means what the module meant.

Both sides are evaluated in NumPy, on several sets of arguments, and compared by the contract's
relation. Where they differ, the VM votes. Where it has no vote, a difference is reported only if no
rounding explains it and a second set of arguments shows it.

A result with undefined behaviour, of a module that has none, differs from whatever the module
gives. Of that only what the VM makes of the module counts: compiled code hides such behaviour.
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
from ..arithmetic.parts import Part, smallest_wrong
from ..catalogue import COMMON_PARTS, parts
from ..composition import contract_of, documented
from ..errors import Mismatch, TooLarge, Undefined, Unsupported
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import nodes, prim_funcs
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns
from ..passcall import PassCall
from ..silence import inventory
from ..silence.inventory import of_error
from ..silence.log import excused, note, omit
from ..structural.checkers import flaw
from ..structural.inside import parts_alone
from ..text import messages
from ..text.short_value_checks import both_sides, by_evaluator, refused
from ..text.value_comments import called
from ..text.value_reproducer import evaluated_text, executed_text
from ..violation import Case, Violation
from ..vote import REFUSED, Verdict, hidden, is_run_by_builds, vote
from . import blame
from .comparison import difference as compared
from .expectation import Expectation
from .relations import Rule
from .sides import drawn_again, rule_of, sides, tolerance_of

MOST = 3
"""Calls in a reproducer."""

FAR = 100
"""Times the tolerance: no rounding explains it."""


REFUSES = "the result refuses arguments that the module takes"
"""The beginning of a key."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The two sides of one call that differ."""

    before: Expectation
    after: Expectation
    wrong: str
    """"values: expected ... but got ...", in general what kind of difference and which."""
    undefined: bool = False
    """The result has undefined behaviour, which compiled code would hide."""
    overflows: bool = False
    """In whole numbers both sides are the same."""

    @property
    def kind(self) -> str:
        """ "values", "shape", "dtype" or "structure"; of what is undefined, how."""
        kind = self.wrong.split(":", 1)[0]
        return messages.anonymous(kind) if self.undefined else kind

    @property
    def what(self) -> str:
        """What other arguments must show, too."""
        return f"{self.before.function} {self.kind}"


def evaluated(runs: PassRuns) -> Violation | None:
    """The first difference that the VM confirms; else one that no rounding explains.

    What the VM shows comes before undefined behaviour, which may come of the same mistake.
    """
    tolerance = tolerance_of(runs)
    unconfirmed: dict[str, Difference] = {}
    found: tuple[Difference, str] | None = None
    builds = functools.partial(is_run_by_builds, runs)
    for difference in differences(runs):
        before, after = difference.before, difference.after
        runs.step("ask the VM")
        if difference.undefined:
            verdict, remark = hidden(before, after, tolerance)
        else:
            verdict, reason = _voted(difference, tolerance, builds)
            remark = f"The VM cannot confirm it: {reason}"
        if verdict is Verdict.SAME:
            if not difference.undefined:
                return _blaming(runs, difference, tolerance)
            found = found or (difference, remark)
            continue
        if verdict is Verdict.OTHER and excused(inventory.REFUTED, difference.wrong):
            continue
        first = unconfirmed.setdefault(difference.what, difference)
        # A second set of arguments shows it.
        if _certain(difference, tolerance) and (
            first is not difference or _shows_again(runs, difference, tolerance)
        ):
            found = found or (first, remark)
            break
        if not excused(inventory.UNCONFIRMED_VALUE, difference.wrong):
            found = found or (first, remark)
    return None if found is None else _blaming(runs, found[0], tolerance, found[1])


def _voted(
    difference: Difference,
    tolerance: Tolerance | None,
    builds: Callable[[], bool] = lambda: False,
) -> tuple[Verdict, str]:
    before, after = difference.before, difference.after
    return vote(before, after, tolerance, builds=builds, overflows=difference.overflows)


def _shows_again(runs: PassRuns, difference: Difference, tolerance: Tolerance | None) -> bool:
    """Other numbers of the same kind show it, too: what a reduction over negative numbers alone
    gets wrong, no other kind shows."""
    other = drawn_again(runs, difference.before)
    again = None if other is None else _compared(*other, tolerance)
    if again is None or _is_of_simplifier(runs, again):
        return False
    return again.what == difference.what and _certain(again, tolerance)


def _blaming(
    runs: PassRuns, difference: Difference, tolerance: Tolerance | None, *notes: str
) -> Violation:
    """The violation by the pass, or by the part of it that makes a difference by itself."""
    culprit = _inside(runs)
    part = None
    if runs.contract.expressions:
        part = smallest_wrong(difference.before, runs.call)
    found = _violation(difference, culprit or runs.call.name, tolerance, *notes, part=part)
    return replace(found, pass_name=culprit or "")


def _inside(runs: PassRuns) -> str | None:
    """The common part of the pass that by itself makes a difference on the module."""
    # Which passes a user's own pass runs inside is not known.
    among = parts(runs.call.name) if documented(runs.call) else COMMON_PARTS
    for name, alone in parts_alone(runs, among):
        if next(differences(alone), None) is not None:
            return name
    return None


def differences(runs: PassRuns) -> Iterator[Difference]:
    """The calls whose two sides differ when they are evaluated."""
    tolerance = tolerance_of(runs)
    for e, side in sides(runs, partial=True):
        difference = _compared(e, side, tolerance)
        if difference is None:
            continue
        if _is_of_simplifier(runs, difference) and excused(inventory.OVERFLOW, difference.wrong):
            continue
        yield difference


def _compared(e: Expectation, side: Expectation, tolerance: Tolerance | None) -> Difference | None:
    side.result = REFUSED
    try:
        side.result = side.value()
    except Unsupported as error:
        if isinstance(error, TooLarge):
            omit("values in NumPy")
        else:
            note(of_error(error), f"of the result: {messages.headline(str(error))}")
        return None
    except Mismatch as error:
        return Difference(e, side, f"results (the result refuses its arguments): {error}")
    except Undefined as error:
        if e.overflows and excused(inventory.OVERFLOW, str(error)):
            return None
        if e.partial and excused(inventory.OPEN, str(error)):
            return None
        return Difference(e, side, str(error), undefined=True)
    except Exception:
        if flaw(side.mod) is not None:
            return None  # another oracle reports that
        raise
    wrong = e.differs(side.result, tolerance) or _wraps(e, side, tolerance)
    if wrong is None and tolerance is None:
        # The VM may have approximations of its own: only the evaluator is asked for all digits.
        e = e.precisely()
        wrong = e.differs(side.result)
    if wrong is None:
        return None
    return Difference(e, side, wrong, overflows=_only_overflows(e, side, tolerance))


def _only_overflows(e: Expectation, side: Expectation, tolerance: Tolerance | None) -> bool:
    """The PrimFuncs of the result compute the same whole numbers, in types that may overflow.

    A type that a pass has made narrower must still be wide enough.
    """
    if _added(side.mod) - _added(e.mod):
        return False
    try:
        return e.differs(side.in_whole_numbers, tolerance) is None
    except (Unsupported, Mismatch, Undefined):
        return False


def _wraps(e: Expectation, side: Expectation, tolerance: Tolerance | None) -> str | None:
    """A difference that shows where numbers that are parameters wrap around in the result."""
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


def _is_of_simplifier(runs: PassRuns, difference: Difference) -> bool:
    """TVM's simplifier may bring the overflow.

    It takes for granted that what it makes of int32 and int64 stays in range, as where
    `x - max(x, y)` becomes `min(0, x - y)` (src/arith/rewrite_simplify.cc: 'signed-overflow-is-UB
    lets those rules assume no wraparound').
    """
    if not difference.overflows:
        return False
    if runs.contract.expressions:
        return True
    try:
        return _is_simplified(difference.before, difference.after)
    except (Unsupported, Mismatch, Undefined):
        return False


SIMPLIFIER = PassCall("tirx.transform.StmtSimplify()")


def _is_simplified(e: Expectation, side: Expectation) -> bool:
    """The simplifier alone makes the elements wrong that are wrong in the result."""
    mod = SIMPLIFIER.run(e.mod)
    alone = Expectation(mod, e.function, e.args, None, e.kind, wraps=True).wrapped_around
    return compared(e.result, side.result, (alone,)) is None


def _added(mod: tvm.IRModule) -> set[str]:
    """The dtypes of what PrimFuncs add and multiply."""
    sums = (ir.Add, ir.Sub, ir.Mul)
    return {str(node.ty.dtype) for _, func in prim_funcs(mod) for node in nodes(func, *sums)}


def _certain(difference: Difference, tolerance: Tolerance | None) -> bool:
    """No rounding explains it: integers, data on which all is exact, or far more than that."""
    e, result = difference.before, difference.after.result
    if result is REFUSED or difference.kind != "values" or (tolerance is None and e.exact):
        return True
    bounds = tolerance or Tolerance()
    far = replace(
        bounds,
        float16=FAR * bounds.float16,
        float32=FAR * bounds.float32,
        float64=FAR * bounds.float64,
    )
    if tolerance is None and e.coarsely_shaken is None and e.shaken is not None:
        # The numbers are beyond those of float16: the leeway of their own precision is known.
        return compared(e.result, result, e.shaken, far) is not None
    return e.differs(result, far) is not None


def _violation(
    difference: Difference,
    blamed: str,
    tolerance: Tolerance | None,
    *notes: str,
    part: Part | None = None,
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
            what += f", since {op} gives something else than is inferred"
        return Violation.titled(what, detail)
    if part is not None:
        where = part.kind
    else:
        where = blame.first_difference(difference.before, difference.after, tolerance)
    key = (difference.kind, where)
    title = f"the result computes other {difference.kind} than the module, starting with {where}"
    return Violation(title, detail, key)


def _snippet(case: Case) -> str:
    """Arguments, expected results and calls of the result, built if the VM shows the difference."""
    shown = _shown(case)
    if shown is None:
        return "apply(mod)"
    expected = [difference.before for difference in shown.differences]
    calls = [shown.rule.text(e.function) for e in expected]
    if shown.by_machine:
        return executed_text(expected, calls, shown.tolerance, after=shown.after)
    return evaluated_text(expected, calls, shown.tolerance)


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """One call, in the VM where that shows what is wrong with it."""
    shown = _shown(case)
    if shown is None:
        return
    for difference in shown.differences:
        e = difference.before
        call = shown.rule.text(e.function)
        if not shown.by_machine:
            raises = difference.undefined or difference.after.result is REFUSED
            yield from by_evaluator(e, call, shown.tolerance, raises=raises)
        elif difference.after.result is REFUSED:
            yield from refused(e, call, shown.after)
        else:
            yield from both_sides(e, call, shown.tolerance, shown.after)


@dataclass(frozen=True, slots=True)
class _Shown:
    differences: list[Difference]
    by_machine: bool
    rule: Rule
    tolerance: Tolerance | None
    after: tvm.IRModule | None


def _shown(case: Case) -> _Shown | None:
    """The differences that the VM shows; else those that the evaluator does."""
    (call,) = case.calls
    runs = PassRuns(case.mod, case.calls, contract_of(call), alone=True, thorough=True)
    found = list(itertools.islice(differences(runs), MOST))
    if not found:
        return None
    rule = rule_of(runs)
    assert rule is not None, f"{call} has no rule for {runs.contract.relation}"
    tolerance = tolerance_of(runs)
    seen = [d for d in found if _voted(d, tolerance)[0] is Verdict.SAME]
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
    failure=FailureKind.VALUES,
    tier=3,
    grade=Grade.A,
    cost=10.0,
    promise="A pass changes how a module computes, not what.",
    source="docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally "
    "equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'",
    check=evaluated,
    snippet=_snippet,
    brief=_brief,
    halves=_halves,
    thorough=True,
)
