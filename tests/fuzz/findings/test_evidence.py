"""Evidence is taken in a child: what crashes there does not end triage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import tirx as T

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.campaign.triage import Triage
from relaxfuzz.fuzz.findings.confirm import take_evidence
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.environment import Environment
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.ingredients import ingredients
from relaxfuzz.oracles.inspect import ops_used
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

FIRST = ops_used(example(ir_modules(), 0, 0))
NAME = next(op for op in ("tan", "sinh", "cosh", "atan") if f"relax.{op}" not in FIRST)
"""An operator that the zygote does not legalize when it starts."""
CRASHING = f"""\
import ctypes
import tvm

def legalize(builder, call):
    ctypes.string_at(0)

tvm.ir.register_op_attr("relax.{NAME}", "FLegalize", legalize, level=99)
"""


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPool]:
    """A pool whose processes die of a segmentation fault wherever one operator is legalized."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(CRASHING)
    with LocalPool(1, environment=Environment(path=(folder,))) as pool:
        yield pool


@pytest.fixture
def finding() -> Finding:
    """A call of unknown shape, which LegalizeOps does not try to lower."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(getattr(relax.op, NAME)(x)))
    call = PassCall("LegalizeOps()")
    case = Case(builder.get(), (call,))
    (violation,) = check(case, oracles=("lowering-complete",))
    text = save_json(case.mod)
    return Finding(violation=violation, module=text, versions=versions(), calls=(call,))


def test_triage_survives_a_legalization_that_crashes(
    dying: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    published: list[Finding] = []
    with Store(tmp_path) as store:
        triage = Triage(store, dying, published.append)
        triage.add(finding)
        triage.drain(60, lambda: None)
        assert (triage.steps.unchecked, triage.steps.failed) == ([], [])
        (stored,) = store.findings()
    assert [each.id for each in published] == [finding.id]
    assert stored.evidence is not None
    assert stored.evidence.unknowns == ("unknown shape",)
    assert stored.identity.ingredients == {"open shape"}


def test_a_legalization_of_another_type_is_noted(pool: LocalPool, finding: Finding) -> None:
    eye = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 2), "float64"))
    with eye.function("main", [x]):
        eye.emit_func_output(eye.emit(relax.op.eye_like(x, dtype="int64")))
    evidence = take_evidence(pool, changed_module(finding, eye.get()))
    assert evidence is not None
    assert evidence.retyped == ("relax.eye_like", "dtype")
    assert evidence.ingredients == ("relax.eye_like",)


def changed_module(finding: Finding, mod: tvm.IRModule) -> Finding:
    stored = json.loads(finding.to_json())
    return Finding.from_json(json.dumps({**stored, "module": save_json(mod)}))


def test_prim_funcs_consist_of_their_statements() -> None:
    @T.prim_func
    def stepping(B: T.Buffer((8,), "int32")) -> None:
        for i in T.unroll(2, 8, step=2):
            if B[i] > 0:
                B[i] = i
            else:
                break

    found = ingredients(tvm.IRModule({"main": stepping}))
    assert found >= {"loop unrolled", "step", "loop not from 0", "IfThenElse", "else"}
    assert "tirx.break_loop" in found
