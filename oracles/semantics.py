"""Executed semantics of passes: what the result computes is what the module computes.

Four values are at hand: evaluated and executed, before the pass and after. The pass is guilty where
evaluator and VM agree with each other on both sides and the sides differ; what the evaluator does
not know (after LegalizeOps, say) leaves the vote to the VM. A disagreement before the pass is one
of code generation (or of the evaluator): `pipeline_values` reports it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import tvm
from tvm import relax

from ..generators.ops.record import Tolerance
from . import relations
from .composition import contract_of
from .contract import Relation
from .errors import Mismatch, Unsupported
from .evaluate import Evaluator
from .execute import Failure, Plan, execute
from .executed_text import executed_text
from .expectation import Expectation, expectations
from .inspect import bindings_of, calls_of, op_name
from .oracle import Case, Oracle, Problem
from .subject import Subject
from .values import difference

LOOSE = Tolerance(float16=1e-1, float32=2e-2, float64=1e-3, reason="computes in less precision")


def executed(subject: Subject) -> Problem | None:
    """What the result computes in the VM is what the module meant before the pass."""
    after = subject.direct.mod
    if after is None or not subject.changed:
        return None
    rule = relations.rule(subject.contract.relation, subject.mod, after, subject.call)
    if rule is None:
        return None
    expected = expectations(subject.mod, rule)
    if not expected:
        return None
    tolerance = LOOSE if subject.contract.relation is Relation.LOOSE else None
    plans = [rule.plan(e.function, e.args) for e in expected]
    subject.tell("execute the result")
    actual = execute(after, plans)
    if not isinstance(actual, list):
        return None
    odd = [
        (e, plan, value)
        for e, plan, value in zip(expected, plans, actual, strict=True)
        if e.differs(value, tolerance) is not None
    ]
    if not odd:
        return None
    subject.tell("execute the module")
    reference = execute(subject.mod, [e.plan() for e, _, _ in odd])
    if not isinstance(reference, list):
        return None
    for (e, plan, value), own in zip(odd, reference, strict=True):
        if e.differs(own) is not None or not _agree(after, plan, value, e, tolerance):
            continue
        wrong = e.differs(value, tolerance)
        assert wrong is not None
        if isinstance(value, Failure):
            # Where the VM notices what is wrong is an accident.
            what = "the result raises in the VM, where the module does not"
            return Problem(f"{what}: {value.error}", f"{e.function}: {wrong}", (what,), (what,))
        kind = wrong.split(":", 1)[0]
        where = _first_difference(subject.mod, after, e, plan)
        return Problem(
            f"the result computes other {kind} than the module, from {where} on",
            f"{e.function}: {wrong}",
            (kind, where),
            (kind, where),
        )
    return None


def _agree(
    after: tvm.IRModule, plan: Plan, actual: Any, e: Expectation, tolerance: Tolerance | None
) -> bool:
    """Evaluator and VM say the same of the result, or the evaluator says nothing."""
    try:
        value = plan(Evaluator(after).run)
    except Unsupported:
        return True
    except Mismatch:
        return isinstance(actual, Failure)
    if isinstance(actual, Failure):
        return False
    return difference(value, actual, e.sensitive, tolerance) is None


def _first_difference(before: tvm.IRModule, after: tvm.IRModule, e: Expectation, plan: Plan) -> str:
    """The operator whose result is the first to differ, as far as variables keep their names."""
    old = _trace(before, e.plan())
    for name, (_, value) in _trace(after, plan).items():
        if name in old and difference(old[name][1], value) is not None:
            return old[name][0]
    return _last(before, e.function)


def _trace(mod: tvm.IRModule, plan: Plan) -> dict[str, tuple[str, Any]]:
    """Variables that have their names for themselves: kind and value, as far as they are known."""
    values: dict[Any, Any] = {}
    with contextlib.suppress(Unsupported, Mismatch):
        plan(Evaluator(mod, lambda var, value: values.setdefault(var, value)).run)
    kinds = {binding.var: _kind(binding) for binding in bindings_of(mod)}
    names = [str(var.name) for var in kinds]
    return {
        str(var.name): (kinds[var], value)
        for var, value in values.items()
        if var in kinds and names.count(str(var.name)) == 1 and not callable(value)
    }


def _kind(binding: relax.Binding) -> str:
    value = binding.value
    return op_name(value) or type(value).__name__


def _last(mod: tvm.IRModule, name: str) -> str:
    """The operator that computes the result."""
    ops = [op for call in calls_of(mod[name].body) if (op := op_name(call)) is not None]
    return ops[-1] if ops else "the parameters"


def _snippet(case: Case) -> str:
    """Arguments, expected results and the calls of the built result, spelled out."""
    (call,) = case.calls
    relation = contract_of(call).relation
    rule = relations.rule(relation, case.mod, call.run(case.mod), call)
    assert rule is not None, f"{call} has no rule for {relation}"
    tolerance = LOOSE if relation is Relation.LOOSE else Tolerance()
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
