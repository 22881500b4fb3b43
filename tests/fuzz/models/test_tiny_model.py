"""A piece of a model as an importer gives it, with what PyTorch says of it: both faults are named.

PyTorch is not needed. The importer leaves out the dtype of a running sum of bool, and code
generation then takes the sum of two bools for one of floats.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.models.exported import packed_attention
from relaxfuzz.fuzz.jobs.jobs import Check, CheckResult
from relaxfuzz.fuzz.process.executor import ask
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Died
from relaxfuzz.fuzz.session.imports import text
from relaxfuzz.oracles.inspect import bindings_of, op_name
from relaxfuzz.oracles.values.frameworks import FrameworkNode, FrameworkReference, ImporterVerdict

HEADS, LENGTH, WIDTH = 4, 64, 64


@relax.expr_functor.mutator
class WithDtype(relax.PyExprMutator):
    """Gives the running sum the dtype that PyTorch has."""

    def visited(self, mod: tvm.IRModule) -> tvm.IRModule:
        return tvm.IRModule({"main": self.visit_expr(mod["main"])})

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        if op_name(call) != "relax.cumsum":
            return call
        return relax.op.cumsum(call.args[0], int(call.attrs.axis), "int64")


def running_sum(mod: tvm.IRModule) -> str:
    (name,) = (str(x.var.name) for x in bindings_of(mod) if op_name(x.value) == "relax.cumsum")
    return name


def causal_attention() -> FrameworkReference:
    """For positions that follow each other: each looks at itself and at those before it."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, HEADS, LENGTH, WIDTH)).astype("float32") for _ in range(3))
    scores = q @ k.swapaxes(-1, -2) / WIDTH**0.5
    chances = np.exp(np.where(np.tri(LENGTH, dtype="bool"), scores, -np.inf))
    positions = np.arange(LENGTH)[None]
    return FrameworkReference(
        "torch 2.14.1",
        "relax.frontend.torch.from_exported_program",
        [q, k, v, positions],
        [(chances / chances.sum(-1, keepdims=True) @ v).astype("float32")],
        [
            FrameworkNode(
                "aten.cumsum.default", running_sum(packed_attention()), "int64", (1, LENGTH)
            )
        ],
    )


def checked(
    mod: tvm.IRModule, pool: LocalPool, folder: Path
) -> tuple[CheckResult, ImporterVerdict]:
    """The check of the default build, and its comparison with PyTorch."""
    causal_attention().save(folder)
    job = Check(module=save_json(mod), pipeline="default", pieces=True, reference=str(folder))
    answer = ask(pool, job)
    assert not isinstance(answer, Died)
    assert answer.verdict is not None
    return answer, answer.verdict


def test_the_importer_is_blamed_for_the_dtype(pool: LocalPool, tmp_path: Path) -> None:
    mod = packed_attention()
    _, verdict = checked(mod, pool, tmp_path)
    place = f"relax.cumsum, {running_sum(mod)}"
    assert verdict.types == (
        f"aten.cumsum.default gives int64 in torch and bool in the module ({place})",
    )
    assert (verdict.evaluated, verdict.not_evaluated) == (None, None)
    assert verdict.not_built is not None
    assert verdict.fails
    assert text(verdict)[1] == "  the NumPy evaluation of the module agrees"


def test_the_build_is_blamed_for_the_sum_of_bools(pool: LocalPool, tmp_path: Path) -> None:
    answer, _ = checked(packed_attention(), pool, tmp_path)
    (violation,) = answer.violations
    assert (violation.oracle, violation.pass_name) == ("executed-by-pipeline", "relax.build")
    assert violation.title.endswith("(relax.cumsum)")
    (part, *_) = answer.parts
    assert part is not None
    assert [op_name(each.value) for each in bindings_of(load_json(part.module))] == ["relax.cumsum"]


def test_with_the_dtype_neither_is(pool: LocalPool, tmp_path: Path) -> None:
    """The same piece, as a right importer would give it."""
    fixed = WithDtype().visited(packed_attention())
    answer, verdict = checked(fixed, pool, tmp_path)
    assert answer.violations == ()
    assert (verdict.types, verdict.evaluated, verdict.built) == ((), None, None)
    assert verdict.agree


def test_a_build_that_is_not_checked_is_compared_all_the_same(
    pool: LocalPool, tmp_path: Path
) -> None:
    causal_attention().save(tmp_path)
    module = save_json(WithDtype().visited(packed_attention()))
    answer = ask(
        pool, Check(module=module, pipeline="default", oracles=(), reference=str(tmp_path))
    )
    assert isinstance(answer, CheckResult)
    assert answer.verdict is not None
    assert answer.verdict.agree
