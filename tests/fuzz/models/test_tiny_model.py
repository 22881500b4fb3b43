"""A tiny model as an importer gives it, stored with what PyTorch says of it: both faults are named.

PyTorch is not needed. The importer leaves out the dtype of a running sum of bool, and code
generation then takes the sum of two bools for one of floats.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.process.executor import ask
from relaxfuzz.fuzz.process.jobs import Check, Judge
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Died
from relaxfuzz.fuzz.session.imports import text
from relaxfuzz.fuzz.user_input.read_module import load
from relaxfuzz.oracles.inspect import bindings_of, op_name

HERE = Path(__file__).parent

CUMSUM = "aten.cumsum.default gives int64 in torch and bool in the module (relax.cumsum, lv14)"


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


@pytest.fixture(scope="module")
def module(pool: LocalPool) -> str:
    return load(HERE / "tiny_llama.py", pool)


def test_the_importer_is_blamed_for_the_dtype(module: str, pool: LocalPool) -> None:
    verdict = ask(pool, Judge(module, str(HERE)))
    assert verdict is not None
    assert not isinstance(verdict, Died)
    assert verdict.types == (CUMSUM,)
    assert (verdict.evaluated, verdict.not_evaluated) == (None, None)
    assert verdict.not_built is not None
    assert verdict.blames_importer
    assert text(verdict)[1] == "  the NumPy evaluation of the module agrees"


def test_the_build_is_blamed_for_the_sum_of_bools(module: str, pool: LocalPool) -> None:
    checked = ask(pool, Check(module=module, pipeline="default", pieces=True))
    assert not isinstance(checked, Died)
    (violation,) = checked.violations
    assert (violation.oracle, violation.pass_name) == ("executed-by-pipeline", "relax.build")
    assert violation.title.endswith("(relax.cumsum)")
    assert checked.piece is not None
    assert [op_name(each.value) for each in bindings_of(load_json(checked.piece))] == [
        "relax.cumsum"
    ]


def test_with_the_dtype_neither_is(module: str, pool: LocalPool) -> None:
    """The same model, as a right importer would give it."""
    fixed = WithDtype().visited(load_json(module))
    checked = ask(pool, Check(module=save_json(fixed), pipeline="default", pieces=True))
    assert not isinstance(checked, Died)
    assert checked.violations == ()
    verdict = ask(pool, Judge(save_json(fixed), str(HERE)))
    assert verdict is not None
    assert not isinstance(verdict, Died)
    assert (verdict.types, verdict.evaluated, verdict.built) == ((), None, None)
    assert verdict.agree
