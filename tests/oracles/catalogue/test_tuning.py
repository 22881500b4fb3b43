"""Schedules of a tuning database are applied to the functions that have them, and to no other."""

from __future__ import annotations

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.violation import Case

CONTRACT = catalogue["MetaScheduleApplyDatabase"]


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((3, 5), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            z = R.sum(y, axis=1)
            R.output(z)
        return z


@pytest.mark.parametrize("data", [b"", b"\1"], ids=["split", "fuse"])
def test_functions_with_a_record_are_scheduled(data: bytes) -> None:
    mod = advance(Model, Stage.LEGALIZED)
    call = CONTRACT.choose(Choices(data), mod)
    assert call is not None
    assert call.name == CONTRACT.name
    names: dict[str, object] = {}
    after = call.run(mod)
    imports, _ = call.source()
    for statement in imports:
        exec(compile(statement, "alone", "exec", dont_inherit=True), names)
    scheduled = {g.name_hint for g, f in after.functions_items() if "tirx.is_scheduled" in f.attrs}
    assert scheduled == {"add"}
    assert CONTRACT.post(mod, after, call) is None
    assert CONTRACT.post(mod, mod, call) == (
        "a PrimFunc that has a record is not marked as scheduled"
    )
    assert CONTRACT.post(mod, tvm.IRModule(), call) == "a PrimFunc is lost"
    oracles = ("crash", "well-formed", "sequential", "idempotent", "evaluated")
    assert list(check(Case(mod, (call,)), oracles=oracles)) == []


@I.ir_module
class OnThreads:
    @T.prim_func(private=True, s_tir=True)
    def fill(y: T.Buffer((2,), "float32")):
        for i in T.thread_binding(2, thread="blockIdx.x"):
            with T.sblock("fill"):
                v = T.axis.spatial(2, i)
                y[v] = T.float32(1)

    @R.function
    def main() -> R.Tensor((2,), "float32"):
        return R.call_tir(OnThreads.fill, (), R.Tensor((2,), "float32"))


@pytest.mark.parametrize("data", [b"", b"\1"], ids=["split", "fuse"])
def test_loops_of_threads_are_left_as_they_are(data: bytes) -> None:
    """Schedule.split and Schedule.fuse refuse them."""
    call = CONTRACT.choose(Choices(data), OnThreads)
    assert call is not None
    assert list(check(Case(OnThreads, (call,)), oracles=("crash", "well-formed"))) == []
