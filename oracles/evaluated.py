"""Evaluated semantics: the result of a pass means what the module meant.

Both sides are evaluated in NumPy, on several sets of arguments, and compared by the contract's
relation. Where they differ, the VM is asked for its vote; where it has none, only a difference that
no rounding explains is told, and only if a second set of arguments shows it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..generators.ops.record import Tolerance
from . import keys, relations, well_formed
from .blame import first_difference
from .composition import contract_of
from .contract import Relation
from .errors import Mismatch, Undefined, Unsupported
from .evaluate import Evaluator
from .executed_text import executed_text
from .expectation import Expectation, copies
from .inputs import Kind
from .inspect import public_functions
from .oracle import Case, Oracle, Problem
from .subject import Subject
from .votes import REFUSED, Verdict, vote

LOOSE = Tolerance(float16=1e-1, float32=2e-2, float64=1e-3, reason="computes in less precision")

MOST = 3
"""Calls in a reproducer."""

FAR = 100
"""Times the tolerance: no rounding explains it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The two sides of one call that differ."""

    before: Expectation
    after: Expectation
    wrong: str
    """"values: expected ... but got ...", in general what kind of difference and which."""
    undefined: bool = False
    """The result does what has no meaning, which compiled code would hide."""

    @property
    def kind(self) -> str:
        return self.wrong.split(":", 1)[0]


def evaluated(subject: Subject) -> Problem | None:
    """The first difference that the VM confirms, or cannot say anything of but must be one."""
    tolerance = tolerance_of(subject)
    silent: dict[str, Difference] = {}
    for difference in differences(subject):
        e = difference.before
        if difference.undefined:
            note = "Not observable in the VM, which checks no access"
            return _problem(difference, f"{e.function}: {difference.wrong}\n{note}")
        subject.tell("ask the VM")
        verdict, reason = vote(e, difference.after, tolerance)
        if verdict is Verdict.SAME:
            return _problem(difference, f"{e.function}: {difference.wrong}")
        if verdict is Verdict.NONE and _certain(difference, tolerance):
            first = silent.setdefault(f"{e.function} {difference.kind}", difference)
            if first is not difference:  # a second set of arguments shows it
                detail = f"{e.function}: {first.wrong}\nThe VM has no say: {reason}"
                return _problem(first, detail)
    return None


def tolerance_of(subject: Subject) -> Tolerance | None:
    """None where the result computes in the same precision."""
    return LOOSE if subject.contract.relation is Relation.LOOSE else None


def differences(subject: Subject) -> Iterator[Difference]:
    """The calls whose two sides differ when they are evaluated."""
    after = subject.direct.mod
    if after is None or not subject.changed or subject.exempt("values"):
        return
    relation = subject.contract.relation
    rule = relations.rule(relation, subject.mod, after, subject.call)
    if rule is None:
        return
    expected = subject.given.expectations
    functions, results = subject.mod.functions, after.functions
    old = {str(gvar.name_hint): func for gvar, func in functions.items()}
    new = {str(gvar.name_hint): func for gvar, func in results.items()}
    kept = {name for name, func in old.items() if name in new and new[name].same_as(func)}
    tolerance = tolerance_of(subject)
    for gvar, _ in public_functions(subject.mod):
        name = str(gvar.name_hint)
        if not rule.applies(name) or expected.reached(name) <= kept:
            continue
        subject.tell("evaluate")
        for e in expected.of(name, rule):
            if e.kind is Kind.SPECIAL and relation is Relation.LOOSE:
                continue
            plan = functools.partial(rule.plan, name)
            side = Expectation(after, name, e.args, None, e.kind, plan)
            difference = _compared(e, side, tolerance)
            if difference is not None:
                yield difference


def _compared(e: Expectation, side: Expectation, tolerance: Tolerance | None) -> Difference | None:
    side.result = REFUSED
    args = copies(e.args)
    try:
        side.result = side.plan(args)(Evaluator(side.mod).run)
    except Unsupported:
        return None
    except Mismatch as error:
        return Difference(e, side, f"results (the result refuses its arguments): {error}")
    except Undefined as error:
        return Difference(e, side, str(error), undefined=True)
    except Exception:
        if well_formed.flaw(side.mod) is not None:
            return None  # which another oracle says
        raise
    wrong = e.differs(side.result, tolerance)
    return None if wrong is None else Difference(e, side, wrong)


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
    return e.differs(result, far) is not None


def _problem(difference: Difference, detail: str) -> Problem:
    if difference.undefined:
        what = f"the result does what has no meaning: {keys.message(difference.wrong)}"
        return Problem(what, detail, (what,), (what,))
    if difference.after.result is REFUSED:
        what = "the result refuses arguments that the module takes"
        return Problem(what, detail, (what,), (what,))
    where = first_difference(difference.before, difference.after)
    key = (difference.kind, where)
    title = f"the result computes other {difference.kind} than the module, from {where} on"
    return Problem(title, detail, key, key)


def _snippet(case: Case) -> str:
    """Arguments, expected results and the calls of the built result, spelled out."""
    (call,) = case.calls
    subject = Subject(case.mod, case.calls, contract_of(call), alone=True)
    found = list(itertools.islice(differences(subject), MOST))
    if not found:
        return "apply(mod)"
    after = subject.direct.mod
    assert after is not None
    rule = relations.rule(subject.contract.relation, case.mod, after, call)
    assert rule is not None, f"{call} has no rule for {subject.contract.relation}"
    calls = [rule.text(difference.before.function) for difference in found]
    return executed_text([d.before for d in found], calls, tolerance_of(subject))


ORACLE = Oracle(
    name="evaluated",
    tier=3,
    cost=1.0,
    promise="A pass changes how a module computes, not what.",
    source="docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally "
    "equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'",
    check=evaluated,
    snippet=_snippet,
)
