"""A bug is reported once, by the finding that shows it best."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from tvm import relax

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.campaign.triage import Triage
from relaxfuzz.fuzz.findings.dedup import by_row
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.evidence import Evidence, evidence_of
from relaxfuzz.fuzz.process.executor import Executor
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.reproducer import source_of
from relaxfuzz.oracles.check import VALUES, check
from relaxfuzz.oracles.grades.consequence import Consequence, Effect, Where
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, silent

LEGALIZE = PassCall("LegalizeOps()")

USER = Path(__file__).parents[1] / "user_passes.py"


def passed_over(*ops: Callable[[relax.Expr], relax.Expr]) -> Finding:
    """What nobody lowers of a chain of calls, the first of them."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
    with builder.function("main", [x]):
        value = x
        for op in ops:
            value = builder.emit(op(value))
        builder.emit_func_output(value)
    mod = builder.get()
    text = save_json(mod)
    found = Finding(
        violation=check(Case(mod, (LEGALIZE,)), oracles=("lowering-complete",))[0],
        module=text,
        source=source_of(text),
        versions=versions(),
        calls=(LEGALIZE,),
        confirmed=True,
        reduced=True,
    )
    return dataclasses.replace(found, evidence=evidence_of(mod, silent, whole=True))


def test_a_bug_is_reported_once(pool: LocalPool, tmp_path: Path) -> None:
    findings = [passed_over(relax.op.exp), passed_over(relax.op.sin), passed_over(relax.op.cos)]
    reported: list[Finding] = []
    with Store(tmp_path) as store:
        worker = Triage(store, pool, reported.append)
        for finding in findings:
            worker.add(finding)
        worker.drain(60, lambda: None)
        assert not worker.steps.unchecked
        assert not worker.steps.failed
        assert len(reported) == 1
        assert {each.id for each in worker.published} == {each.id for each in findings}
        assert [len(row.members) for row in store.rows.all()] == [3]


def test_what_no_evidence_can_be_taken_of_is_reported_all_the_same(
    pool: LocalPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(executor: Executor, finding: Finding) -> Evidence:
        raise ValueError("not this one")

    monkeypatch.setattr("relaxfuzz.fuzz.campaign.triage.take_evidence", fails)
    reported: list[Finding] = []
    with Store(tmp_path) as store:
        worker = Triage(store, pool, reported.append)
        worker.add(dataclasses.replace(passed_over(relax.op.exp), evidence=None, reduced=False))
        worker.drain(60, lambda: None)
    # Both the finding and the fault are reported.
    assert len(reported) == 1
    ((_, failure),) = worker.steps.failed
    assert "not this one" in failure


def test_a_missed_post_condition_is_as_grave_as_the_wrong_values_that_come_with_it(
    pool: LocalPool, tmp_path: Path
) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(relax.op.exp(builder.emit(relax.op.add(x, x))))
        builder.emit_func_output(output)
    text = save_json(builder.get())
    call = PassCall("subtracts()", factory=f"{USER}:subtracts", like="DeadCodeElimination")
    found = check(Case(builder.get(), (call,)), besides=VALUES)
    assert [each.oracle for each in found] == ["evaluated", "postcondition"]
    findings = [
        Finding(
            violation=violation,
            module=text,
            source=source_of(text),
            versions=versions(),
            calls=(call,),
        )
        for violation in found
    ]
    reported: list[Finding] = []
    with Store(tmp_path) as store:
        worker = Triage(store, pool, reported.append)
        for finding in reversed(findings):  # the less grave one comes first
            worker.add(finding)
        worker.drain(60, lambda: None)
        assert not worker.steps.unchecked
        assert not worker.steps.failed
        assert [each.oracle for each in reported] == ["postcondition"]
        assert reported[0].consequence == Consequence(Effect.VALUES, Where.BUILD)
        (row,) = by_row(store, worker.published).values()
        assert [each.oracle for each in row] == ["evaluated", "postcondition"]
