"""Effects: the result of a pass has the same effects as the module, in the same order.

An effect is a call of a packed function that the module does not declare pure: a print, an
assertion, a call of a function registered elsewhere. Both sides are evaluated, and the VM votes on
prints and assertions, whose calls it can record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm

from ...generators.ops import table
from ...generators.ops.record import Tolerance
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate.effects import PackedCall, packed_effect
from ..expected.comparison import difference
from ..expected.expectation import Expectation
from ..identity import FailureKind
from ..inspect import relax_functions
from ..oracle import Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, run_alone
from ..silence import inventory
from ..silence.inventory import of_error
from ..silence.log import abstain, excused, note
from ..snippets.value_comments import called
from ..violation import Case, Violation
from ..vote import Vote, vote
from . import blame
from .sides import sides, tolerance_of

OPERATORS = tuple(
    effect
    for name, op in table.items()
    if not op.pure and (effect := packed_effect(f"relax.{name}")) is not None
)
"""The packed functions of impure operators, which the VM uses for nothing else."""

CLAIMED = "a function that claims to be pure has an effect"
ASSERTED = "a call that has an effect is taken for pure"
LOST = "an effect is lost"
ADDED = "an effect is added"
ORDER = "effects are in another order"
OTHER = "an effect has other arguments"


class Effects(Expectation):
    """The effects of one call, instead of its result: the name and the arguments of each."""

    def __init__(self, e: Expectation, record: Sequence[str] = ()) -> None:
        """
        Args:
            e: the call.
            record: consider only calls of these packed functions.
        """
        super().__init__(e.mod, e.function, e.args, (), e.kind, e.plan, e.wraps)
        self.record = record
        self.all = self.effects()
        self.result = self.values(self.all)

    def effects(self, args: list[Any] | None = None, **options: Any) -> list[PackedCall]:
        """All calls of packed functions that may have an effect.

        Raises:
            Unsupported, Mismatch, Undefined: see `Evaluator.run`.
        """
        found: list[PackedCall] = []
        super().evaluate(args, effects=found, **options)
        return [each for each in found if not self.record or each.function in self.record]

    def evaluate(self, args: list[Any] | None = None, **options: Any) -> Any:
        """The effects that the module does not declare pure; see `Expectation.evaluate`."""
        return self.values(self.effects(args, **options))

    @staticmethod
    def values(effects: Sequence[PackedCall]) -> Any:
        return tuple(_value(each) for each in effects if not each.asserted)


def _value(effect: PackedCall) -> tuple[Any, ...]:
    return effect.function, *effect.args


@dataclass(frozen=True, slots=True)
class EffectDifference:
    """The effects of one call on both sides, and their difference."""

    before: Effects
    after: Effects
    what: str
    function: str
    """The packed function with a call too many or too few; empty if only the order differs."""


def check(runs: PassRuns) -> Violation | None:
    """The first difference that the VM confirms or cannot observe."""
    for found in _differences(runs):
        runs.step("ask the VM")
        if _refuted(found, tolerance_of(runs)) and excused(inventory.REFUTED, found.what):
            continue
        named = found.function if found.function in OPERATORS else "a packed function"
        what = found.what if not found.function else f"{found.what}: {named}"
        detail = (
            f"{found.before.function}: {what}\n"
            f"expected the calls {_names(found.before)} but got {_names(found.after)}"
        )
        where = None
        if found.what == OTHER:
            where = blame.first_variable(found.before, found.after, tolerance_of(runs))
        if where is None:
            return Violation.titled(what, detail)
        title = f"{what}, starting with the result of {where}"
        return Violation(title, detail, (what, where))
    return None


def _names(e: Effects) -> str:
    return f"[{', '.join(function for function, *_ in e.result)}]"


def _refuted(found: EffectDifference, tolerance: Tolerance | None) -> bool:
    """True if the VM sees no difference, or contradicts the evaluator on one side."""
    if found.what in (CLAIMED, ASSERTED):
        return False  # compiled code has the effect in any case
    before, after = (Effects(e, OPERATORS) for e in (found.before, found.after))
    if before.differs(after.result, tolerance) is None:
        return False  # the VM also calls the other functions by itself
    return vote(before, after, tolerance)[0] is Vote.OTHER


def _differences(runs: PassRuns) -> Iterator[EffectDifference]:
    """The calls whose effects differ when both sides are evaluated."""
    after = runs.changed_result()
    if after is None:
        return
    if not (_impure(runs.mod) or _impure(after)):
        abstain(inventory.NO_EFFECTS)
        return
    tolerance = tolerance_of(runs)
    for e, side in sides(runs):
        try:
            before, now = Effects(e), Effects(side)
        except (Unsupported, Mismatch, Undefined) as error:
            note(of_error(error))  # the oracles of values report that
            continue
        found = _compared(before, now, tolerance)
        if found is not None:
            yield EffectDifference(before, now, *found)


def _impure(mod: tvm.IRModule) -> bool:
    return any(not func.is_pure for _, func in relax_functions(mod))


def _compared(
    before: Effects, after: Effects, tolerance: Tolerance | None
) -> tuple[str, str] | None:
    """The kind of difference and the packed function concerned; None if effects agree."""
    claims = next((each for each in after.all if each.claimed and not each.asserted), None)
    if claims is not None and not any(e.claimed and not e.asserted for e in before.all):
        return CLAIMED, claims.function
    expected = [each for each in before.all if not each.asserted]
    actual = _concerned(expected, before, after)
    if [each.function for each in expected] == [each.function for each in actual]:
        values = tuple(map(_value, actual))
        if before.differs(values, tolerance) is None:
            return None
    lost, added = _without(expected, actual), _without(actual, expected)
    if not lost and not added:
        return ORDER, ""
    if not lost:
        return ADDED, added[0].function
    if any(_same(each, lost[0]) for each in _newly_asserted(before, after)):
        return ASSERTED, lost[0].function
    if any(each.function == lost[0].function for each in added):
        return OTHER, lost[0].function
    return LOST, lost[0].function


def _newly_asserted(before: Effects, after: Effects) -> list[PackedCall]:
    """The calls that only the second side declares pure."""
    asserted = ([each for each in side.all if each.asserted] for side in (after, before))
    return _without(*asserted)


def _concerned(expected: list[PackedCall], before: Effects, after: Effects) -> list[PackedCall]:
    """The effects of a result, in a form that must equal the expected ones.

    Lowering uses other packed functions, and turns calls that are declared pure into ordinary ones.
    """
    functions = {*OPERATORS, *(each.function for each in expected)}
    declared = _newly_asserted(after, before)
    found: list[PackedCall] = []
    for each in after.all:
        if each.function not in functions or each.asserted:
            continue
        is_next = len(found) < len(expected) and _same(each, expected[len(found)])
        if is_next or len(_without(declared, [each])) == len(declared):
            found.append(each)
        else:
            declared = _without(declared, [each])
    return found


def _without(these: Sequence[PackedCall], others: Sequence[PackedCall]) -> list[PackedCall]:
    """These effects, with one equal effect removed for each of the others."""
    left = list(these)
    for other in others:
        place = next((i for i, each in enumerate(left) if _same(each, other)), None)
        if place is not None:
            del left[place]
    return left


def _same(a: PackedCall, b: PackedCall) -> bool:
    return a.function == b.function and difference(a.args, b.args) is None


def _shown(case: Case) -> tuple[PassRuns, EffectDifference] | None:
    runs = run_alone(case.mod, *case.calls)
    tolerance = tolerance_of(runs)
    found = (each for each in _differences(runs) if not _refuted(each, tolerance))
    first = next(found, None)
    return None if first is None else (runs, first)


def _halves(case: Case, violation: Violation) -> Halves | None:
    shown = _shown(case)
    if shown is None:
        return None
    runs, found = shown
    sides = ((f"before {runs.call.name}", found.before), (f"after {runs.call.name}", found.after))
    one, other = (
        Half(label, e.mod, "\n".join([called(e.function, e.args, "these calls:"), *_lines(e)]))
        for label, e in sides
    )
    return one, other


def _lines(e: Effects) -> Iterator[str]:
    for function, *args in e.result:
        yield called(function, [arg for arg in args if not isinstance(arg, str)], ())


ORACLE = Oracle(
    name="effects",
    breach=Breach(FailureKind.VALUES),
    tier=3,
    promise="A pass keeps the effects of a module (prints, assertions, calls of impure packed "
    "functions), their order and their arguments; a function that claims to be pure has none.",
    source="docs/deep_dive/relax/learning.rst: 'within a dataflow block, all the operations need "
    "to be side-effect free. Outside a dataflow block, the operations can contain side-effect'; "
    "docs/arch/tvmscript.rst: 'R.function(pure=False) — marks the function as having side effects'",
    check=check,
    halves=_halves,
)
