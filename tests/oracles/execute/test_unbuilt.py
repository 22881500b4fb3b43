"""The operator that keeps a module from being built is named, and stands alone in the finding."""

from __future__ import annotations

import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import ask
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.execute import Failure, execute
from relaxfuzz.oracles.execute.unbuilt import culprit
from relaxfuzz.oracles.inspect import bindings_of
from relaxfuzz.oracles.violation import Case

BUILD = "executed-by-pipeline"


def module(dtype: str | None) -> tvm.IRModule:
    """Positions out of a mask, as an importer makes them; a running sum of bool does not build."""
    x = relax.Var("mask", relax.TensorType((2, 8), "int64"))
    y = relax.Var("y", relax.TensorType((2, 8), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        mask = builder.emit(relax.op.not_equal(x, relax.const(0, "int64")))
        other = builder.emit(relax.op.multiply(y, y))
        total = builder.emit(relax.op.cumsum(mask, axis=1, dtype=dtype))
        wide = builder.emit(relax.op.astype(total, "float32"))
        builder.emit_func_output(builder.emit(relax.op.add(wide, other)))
    return builder.get()


def test_the_operator_is_named() -> None:
    (violation,) = check(Case(module(None), pipeline="default"), oracles=[BUILD])
    assert violation.pass_name == "relax.build"
    assert violation.title.endswith("(relax.cumsum)")
    first, *_ = violation.detail.splitlines()
    assert first == "main: gv2 = relax.cumsum alone fails in the same way"


def test_a_module_that_builds_has_no_culprit() -> None:
    assert check(Case(module("int64"), pipeline="default"), oracles=[BUILD]) == []


def test_no_call_alone_is_blamed_for_another_failure() -> None:
    failure = execute(module(None), [lambda run: None])
    assert isinstance(failure, Failure)
    assert culprit(module("int64"), failure, "default") is None


def test_the_finding_has_the_call_alone(pool: LocalPool) -> None:
    job = Check(module=save_json(module(None)), pipeline="default", pieces=True)
    checked = ask(pool, job)
    (violation,) = checked.violations
    assert violation.pass_name == "relax.build"
    (part,) = checked.parts
    assert part is not None
    assert [str(each.value.op.name) for each in bindings_of(load_json(part.module))] == [
        "relax.cumsum"
    ]
