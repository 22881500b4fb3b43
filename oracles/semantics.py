"""Executed semantics of passes: what the result computes is what the module computes.

Four values are at hand: evaluated and executed, before the pass and after. The pass is guilty where
evaluator and VM agree with each other on both sides and the sides differ; what the evaluator does
not know (after LegalizeOps, say) leaves the vote to the VM. A disagreement before the pass is one
of code generation (or of the evaluator): `pipeline_values` reports it.
"""

from __future__ import annotations

import functools
from typing import Any

from ..generators.ops.record import Tolerance
from . import relations
from .blame import first_difference
from .composition import contract_of
from .contract import Relation
from .errors import Mismatch, Undefined, Unsupported
from .evaluate import Evaluator
from .evaluated import LOOSE, tolerance_of
from .execute import Failure, execute
from .executed_text import executed_text
from .expectation import Expectation, expectations
from .oracle import Case, Oracle, Problem
from .subject import Subject


def executed(subject: Subject) -> Problem | None:
    """What the result computes in the VM is what the module meant before the pass."""
    after = subject.direct.mod
    if after is None or not subject.changed or subject.exempt("values"):
        return None
    rule = relations.rule(subject.contract.relation, subject.mod, after, subject.call)
    if rule is None:
        return None
    expected = expectations(subject.mod, rule)
    if not expected:
        return None
    tolerance = tolerance_of(subject)
    sides = [
        Expectation(
            after, e.function, e.args, None, e.kind, functools.partial(rule.plan, e.function)
        )
        for e in expected
    ]
    subject.tell("execute the result")
    actual = execute(after, [side.plan() for side in sides])
    if not isinstance(actual, list):
        return None
    odd = [
        (e, side, value)
        for e, side, value in zip(expected, sides, actual, strict=True)
        if e.differs(value, tolerance) is not None
    ]
    if not odd:
        return None
    subject.tell("execute the module")
    reference = execute(subject.mod, [e.plan() for e, _, _ in odd])
    if not isinstance(reference, list):
        return None
    for (e, side, value), own in zip(odd, reference, strict=True):
        if e.differs(own) is not None or not _agree(side, value, tolerance):
            continue
        wrong = e.differs(value, tolerance)
        assert wrong is not None
        if isinstance(value, Failure):
            # Where the VM notices what is wrong is an accident.
            what = "the result raises in the VM, where the module does not"
            return Problem(f"{what}: {value.error}", f"{e.function}: {wrong}", (what,), (what,))
        kind = wrong.split(":", 1)[0]
        side.result = value
        where = first_difference(e, side)
        return Problem(
            f"the result computes other {kind} than the module, from {where} on",
            f"{e.function}: {wrong}",
            (kind, where),
            (kind, where),
        )
    return None


def _agree(side: Expectation, actual: Any, tolerance: Tolerance | None) -> bool:
    """Evaluator and VM say the same of the result, or the evaluator says nothing."""
    try:
        side.result = side.plan()(Evaluator(side.mod).run)
    except Unsupported:
        return True
    except (Mismatch, Undefined):
        return isinstance(actual, Failure)
    return not isinstance(actual, Failure) and side.differs(actual, tolerance) is None


def _snippet(case: Case) -> str:
    """Arguments, expected results and the calls of the built result, spelled out."""
    (call,) = case.calls
    relation = contract_of(call).relation
    rule = relations.rule(relation, case.mod, call.run(case.mod), call)
    assert rule is not None, f"{call} has no rule for {relation}"
    tolerance = LOOSE if relation is Relation.LOOSE else None
    expected = expectations(case.mod, rule)
    return executed_text(expected, [rule.text(e.function) for e in expected], tolerance)


ORACLE = Oracle(
    name="executed",
    tier=4,
    cost=20.0,  # 150 where the pass changes a module that the evaluator knows
    promise="A pass changes how a module computes, not what.",
    source="docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally "
    "equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'",
    check=executed,
    snippet=_snippet,
)
