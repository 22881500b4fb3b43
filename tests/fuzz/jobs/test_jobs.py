"""The answer of a check is consistent."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.jobs.asking import check_each, check_some
from relaxfuzz.fuzz.jobs.jobs import HUGE, LARGE, CheckEach, CheckOf, CheckResult, consistent
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence import inventory
from relaxfuzz.oracles.silence.log import Answer
from relaxfuzz.oracles.violation import Violation

SHAPES = (("x", (2, 3, 4)), ("gamma", (4, 3)))


def test_an_oracle_that_reports_has_compared() -> None:
    """It may have abstained on the module, and compared on a piece, or in another step."""
    found = Violation.titled("other values").blame("evaluated", "mine")
    silent = Answer("evaluated", inventory.UNCHANGED.excuses)
    other = Answer("executed", inventory.UNCHANGED.excuses)
    answer = consistent(CheckResult((found,), (silent, other)))
    assert answer.answers == (Answer("evaluated"), other)
    assert consistent(CheckResult((found,), (other,))).answers == (other, Answer("evaluated"))
    assert consistent(CheckResult((), (silent, other))).answers == (silent, other)


def test_slow_checks_of_a_huge_module_are_made_on_pieces_if_the_time_is_short(
    pool: LocalPool,
) -> None:
    """Each fault is on its piece; a pass that applies to no piece is checked on the module."""
    builder = relax.BlockBuilder()
    x, gamma = (relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in SHAPES)
    with builder.function("main", [x, gamma]):
        value: relax.Expr = x
        for operator in 620 * [relax.op.exp, relax.op.nn.relu, relax.op.negative, relax.op.sin]:
            value = builder.emit(operator(value))
        normal = relax.op.nn.layer_norm(value, gamma, gamma, axes=[2, 1])
        builder.emit_func_output(builder.emit(normal))
    mod = builder.finalize()
    names = ("CanonicalizeBindings", "LegalizeOps", "Normalize", "LambdaLift")
    calls = [(PassCall(f"{name}()"),) for name in names]
    checks = (CheckOf(calls=calls[0]), *(CheckOf(calls=call, slow=True) for call in calls[1:]))
    module = save_json(mod)
    assert len(module) > HUGE
    job = CheckEach(module=module, checks=checks, until=time.monotonic())
    first, *others = check_each(pool, job)
    assert isinstance(first, CheckResult)
    assert first.whole
    assert [each.whole for each in others if isinstance(each, CheckResult)] == [False] * 3
    legalized = others[0]
    assert isinstance(legalized, CheckResult)
    (found,) = legalized.located
    assert found[1] is not None
    (func,) = load_json(found[1].module).functions.values()
    assert len(func.body.blocks[0].bindings) < 100


@pytest.mark.session
def test_what_no_call_of_a_large_module_shows_alone_is_found_on_a_piece(pool: LocalPool) -> None:
    """The pass updates a view of a constant in place: two calls show it, and either alone does not.

    The violation on the whole module would be confirmed and reduced there.
    """
    constant = relax.const(np.ones((2, 3), "float32"))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((6,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value: relax.Expr = x
            for operator in 230 * [relax.op.sin, relax.op.cos, relax.op.tanh]:
                value = builder.emit(operator(value))
            view = builder.emit(relax.op.reshape(constant, (6,)))
            sums = builder.emit(relax.op.add(view, view))
            output = builder.emit_output(relax.op.multiply(sums, value))
        builder.emit_func_output(output)
    module = save_json(builder.get())
    assert len(module) > LARGE
    checks = (CheckOf(calls=(PassCall("DataflowUseInplaceCalls()"),)),)
    (answer,) = check_each(pool, CheckEach(module=module, checks=checks, oracles=("evaluated",)))
    assert isinstance(answer, CheckResult)
    ((violation, part),) = answer.located
    assert violation.oracle == "evaluated"
    assert part is not None
    (func,) = load_json(part.module).functions.values()
    assert len(func.body.blocks[0].bindings) < 30


def test_jobs_that_share_claims_make_each_check_once(pool: LocalPool, tmp_path: Path) -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    calls = (PassCall("Normalize()"), PassCall("LambdaLift()"), PassCall("ToNonDataflow()"))
    checks = tuple(CheckOf(calls=(call,)) for call in calls)
    job = CheckEach(module=save_json(builder.get()), checks=checks, claims=str(tmp_path))
    (tmp_path / "1").touch()
    assert [number for number, _ in check_some(pool, job)] == [0, 2]
    assert not list(check_some(pool, job))
