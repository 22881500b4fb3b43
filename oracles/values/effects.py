"""Effects: what a module does besides giving results, its pass's result does too, in that order.

An effect is a call of a packed function that the module does not say is pure: a print, an
assertion, a call of a function that is registered elsewhere. Both sides are evaluated, and the VM
votes on prints and assertions, whose calls it can be asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm

from ...generators.ops.record import Tolerance
from ..composition import contract_of
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate.effects import Effect, packed_effect
from ..execute import DEVICES, recorded
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import relax_functions
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.inventory import of_error
from ..silence.log import abstain, excused, note
from ..text.standalone import standalone
from ..text.value_comments import called
from ..text.value_reproducer import assert_close, built_text, literal
from ..violation import Case, Violation
from ..vote import Verdict, vote
from . import blame
from .comparison import difference
from .expectation import Expectation
from .sides import rule_of, sides, tolerance_of

OPERATORS = tuple(filter(None, map(packed_effect, ("relax.print", "relax.assert_op"))))
"""The packed functions of impure operators: the VM calls them for nothing else."""

CLAIMED = "a function that claims to be pure has an effect"
ASSERTED = "a call that has an effect is taken for pure"
LOST = "an effect is lost"
ADDED = "an effect is added"
ORDER = "effects are in another order"
OTHER = "an effect has other arguments"


class Effects(Expectation):
    """The effects of one call, in place of its result: the name and the arguments of each."""

    def __init__(self, e: Expectation, record: Sequence[str] = ()) -> None:
        """
        Args:
            e: the call.
            record: only calls of these packed functions.
        """
        super().__init__(e.mod, e.function, e.args, (), e.kind, e.plan, e.wraps)
        self.record = record
        self.all = self.effects()
        self.result = self.values(self.all)

    def effects(self, args: list[Any] | None = None, **options: Any) -> list[Effect]:
        """All calls of packed functions that may have an effect.

        Raises:
            Unsupported, Mismatch, Undefined: see `Evaluator.run`.
        """
        found: list[Effect] = []
        super().evaluate(args, effects=found, **options)
        return [each for each in found if not self.record or each.function in self.record]

    def evaluate(self, args: list[Any] | None = None, **options: Any) -> Any:
        """Those that the module does not say are pure; see `Expectation.evaluate`."""
        return self.values(self.effects(args, **options))

    @staticmethod
    def values(effects: Sequence[Effect]) -> Any:
        return tuple(_value(each) for each in effects if not each.asserted)


def _value(effect: Effect) -> tuple[Any, ...]:
    return effect.function, *effect.args


@dataclass(frozen=True, slots=True)
class Difference:
    """The effects of one call on both sides, and how they differ."""

    before: Effects
    after: Effects
    what: str
    function: str
    """The packed function that is called once too often, or not; empty for an order."""


def check(runs: PassRuns) -> Violation | None:
    """The first difference that the VM confirms, or that it cannot see."""
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


def _refuted(found: Difference, tolerance: Tolerance | None) -> bool:
    """The VM sees no difference, or does something else than the evaluator on one side."""
    if found.what in (CLAIMED, ASSERTED):
        return False  # compiled code has it all the same
    before, after = (Effects(e, OPERATORS) for e in (found.before, found.after))
    if before.differs(after.result, tolerance) is None:
        return False  # the VM calls the other functions for reasons of its own, too
    return vote(before, after, tolerance)[0] is Verdict.OTHER


def _differences(runs: PassRuns) -> Iterator[Difference]:
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
            note(of_error(error))  # its meaning is asked of the values
            continue
        found = _compared(before, now, tolerance)
        if found is not None:
            yield Difference(before, now, *found)


def _impure(mod: tvm.IRModule) -> bool:
    return any(not func.is_pure for _, func in relax_functions(mod))


def _compared(
    before: Effects, after: Effects, tolerance: Tolerance | None
) -> tuple[str, str] | None:
    """How effects differ, and which; None where they do not."""
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


def _newly_asserted(before: Effects, after: Effects) -> list[Effect]:
    """The calls that only the result says are pure."""
    asserted = ([each for each in side.all if each.asserted] for side in (after, before))
    return _without(*asserted)


def _concerned(expected: list[Effect], before: Effects, after: Effects) -> list[Effect]:
    """The effects of a result that must be those that are expected.

    Lowering calls other packed functions, and turns calls that are pure, as the module says, into
    ordinary ones.
    """
    functions = {*OPERATORS, *(each.function for each in expected)}
    found = [each for each in after.all if each.function in functions and not each.asserted]
    for pure in (each for each in before.all if each.asserted):
        if _calls(pure.function, found) > _calls(pure.function, expected):
            found = _without(found, [pure])
    return found


def _calls(function: str, effects: Sequence[Effect]) -> int:
    return sum(each.function == function for each in effects)


def _without(these: Sequence[Effect], others: Sequence[Effect]) -> list[Effect]:
    """These effects, one less for each of the others that is the same."""
    left = list(these)
    for other in others:
        place = next((i for i, each in enumerate(left) if _same(each, other)), None)
        if place is not None:
            del left[place]
    return left


def _same(a: Effect, b: Effect) -> bool:
    return a.function == b.function and difference(a.args, b.args) is None


# Reproducers


def _shown(case: Case) -> tuple[PassRuns, Difference] | None:
    (call,) = case.calls
    runs = PassRuns(case.mod, case.calls, contract_of(call), alone=True, thorough=True)
    tolerance = tolerance_of(runs)
    found = (each for each in _differences(runs) if not _refuted(each, tolerance))
    first = next(found, None)
    return None if first is None else (runs, first)


def _snippet(case: Case) -> str:
    """The calls of packed functions that a call of the result makes: in the VM, where it shows."""
    shown = _shown(case)
    if shown is None:
        return "apply(mod)"
    runs, found = shown
    rule = rule_of(runs)
    assert rule is not None, f"{runs.call} has no rule for {runs.contract.relation}"
    e = found.before
    made = f"args = {literal(e.args)}\n{rule.text(e.function)}"
    if found.what == CLAIMED:
        return f"{_EVALUATE}\n{made}\n{_CLAIMED}"
    before, after = Effects(e, OPERATORS), Effects(found.after, OPERATORS)
    if found.what == ASSERTED or before.differs(after.result, tolerance_of(runs)) is None:
        functions = sorted({function for function, *_ in e.result} | {found.function} - {""})
        expected, text = e, f"{standalone(assert_close)}\n\n\n{_EVALUATE}\n{made}\n"
        text += _EVALUATED.format(functions=functions)
    else:
        machine = f"machine = relax.VirtualMachine(built, [tvm.cpu()] * {DEVICES})"
        built = built_text(recorded, assert_close, after=runs.direct.mod)
        expected = before
        text = f"{built}\ncalls = recorded({list(OPERATORS)})\n{machine}\n{made}\n"
    return f"{text}{_COMPARED.format(expected=literal(list(expected.result)))}"


_EVALUATE = """\
# Compiled code does not show this: the result is evaluated in NumPy, as relaxfuzz does it.
from relaxfuzz import evaluate

after, effects = apply(mod), []


def run(name, args, functions={}):
    return evaluate(after, name, args, functions, effects=effects)

"""

_CLAIMED = """\
wrong = [e.function for e in effects if e.claimed and not e.asserted]
assert not wrong, f"a function that claims to be pure calls {wrong}"
"""

_EVALUATED = """\
calls = [(e.function, *e.args) for e in effects if not e.asserted and e.function in {functions}]
"""

_COMPARED = """\
expected = {expected}
names, wanted = ([name for name, *_ in some] for some in (calls, expected))
assert names == wanted, f"calls of {{names}}, expected {{wanted}}"
for (name, *got), (_, *want) in zip(calls, expected):
    for one, other in zip(got, want):
        if not isinstance(other, str):
            assert_close(one, other, rtol=1e-3, atol=1e-3)
"""


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
    failure=FailureKind.VALUES,
    tier=3,
    grade=Grade.A,
    cost=0.4,
    promise="A pass keeps the effects of a module (prints, assertions, calls of impure packed "
    "functions), their order and their arguments; a function that claims to be pure has none.",
    source="docs/deep_dive/relax/learning.rst: 'within a dataflow block, all the operations need "
    "to be side-effect free. Outside a dataflow block, the operations can contain side-effect'; "
    "docs/arch/tvmscript.rst: 'R.function(pure=False) — marks the function as having side effects'",
    check=check,
    snippet=_snippet,
    halves=_halves,
    thorough=True,
)
