"""Campaigns of passes of several families."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax, s_tir, tirx
from tvm.s_tir import dlight

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.campaign.block import regenerated
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import Finished, HarnessFault
from relaxfuzz.fuzz.loading.targets import by_spelling, family_named, targets
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import Named, Origin, Recipe, Target
from relaxfuzz.fuzz.session.unchanged import own_families
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.named import names_in
from relaxfuzz.fuzz.user_input.pass_type import families_of_pass, family_by_type
from relaxfuzz.fuzz.user_input.settings import Relaxations
from relaxfuzz.generators.families import FAMILIES
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import nodes, prim_funcs, relax_functions
from tests.oracles import tensorir_faults

USER = Path(__file__).parents[1] / "user_passes.py"
OWN = f"{tensorir_faults.__file__}:keeps_all"


def test_both_families_are_checked(pool: LocalPool) -> None:
    chosen = (Target("ToNonDataflow"), Target("tirx.RemoveNoOp"))
    config = CampaignConfig(
        seed=1, modules=12, targets=chosen, modules_in_block=2, compositions=False
    )
    events = list(run(config, pool))
    assert [event for event in events if isinstance(event, HarnessFault)] == []
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert all(finished.state.stats[target.label].checks > 2 for target in chosen)


@pytest.mark.session
def test_a_sample_is_executed_on_a_device(pool: LocalPool) -> None:
    chosen = (Target("tirx.StmtSimplify"), Target("s_tir.StmtSimplify"))
    config = CampaignConfig(
        seed=1, modules=12, targets=chosen, modules_in_block=6, device="llvm", compositions=False
    )
    events = list(run(config, pool))
    assert [event for event in events if isinstance(event, HarnessFault)] == []
    finished = events[-1]
    assert isinstance(finished, Finished)
    sampled = [finished.state.stats[target.label].sampled for target in chosen]
    executed = [each.get("executed-on-llvm", 0) for each in sampled]
    assert sum(executed) > 0
    assert all(
        each.get("evaluated", 0) >= number for each, number in zip(sampled, executed, strict=True)
    )


def test_kernels_are_bound_to_the_device_of_the_campaign() -> None:
    origin = Origin(3, 1, Stage.SCHEDULED, Recipe(family="dlight", target="opencl"))
    for _, func in prim_funcs(regenerated(origin)):
        assert func.attrs["target"].kind.name == "opencl"


def test_a_module_of_a_family_is_made_again() -> None:
    origin = Origin(3, 1, Stage.FLATTENED, Recipe(family="tensorir"))
    mod = regenerated(origin)
    assert list(prim_funcs(mod))
    assert not list(relax_functions(mod))


def test_names_choose_a_family() -> None:
    assert {target.name for target in targets((), Relaxations())}.isdisjoint(
        target.name for target in targets((), Relaxations(), family="tensorir")
    )
    every = [target.name for target in targets((), Relaxations(), family="all")]
    of_each = {
        target.name for name in FAMILIES for target in targets((), Relaxations(), family=name)
    }
    assert len(every) == len(of_each)
    assert set(every) == of_each
    with pytest.raises(UserError, match=r"no family 'tensoir'\. Did you mean 'tensorir'"):
        family_named("tensoir")


@pytest.mark.session
def test_a_pass_of_ones_own_is_of_the_family_that_is_named() -> None:
    (target,) = by_spelling([OWN], Relaxations(), family="tensorir").values()
    assert target.stages == FAMILIES["tensorir"].stages
    (target,) = by_spelling([OWN], Relaxations(), family="relax").values()
    assert target.stages == ()
    (target,) = by_spelling([OWN], Relaxations(stages=("flattened",))).values()
    assert target.stages == (Stage.FLATTENED,)
    with pytest.raises(UserError, match="the stages raw, flattened are not all of one family"):
        by_spelling([OWN], Relaxations(stages=("raw", "flattened")))


@pytest.mark.session
def test_the_type_of_a_pass_chooses_its_family() -> None:
    (target,) = by_spelling([OWN], Relaxations()).values()
    assert target.stages == FAMILIES["tensorir"].stages
    assert own_families([target]) == {"keeps_all": ("tensorir",)}
    (target,) = by_spelling([OWN], Relaxations(like="tirx.RemoveNoOp")).values()
    assert target.stages == ()
    (target,) = by_spelling([f"{USER}:correct"], Relaxations()).values()
    assert target.stages == ()
    assert own_families([target]) == {}


@tirx.transform.prim_func_pass(opt_level=0)
def of_threads(func, mod, context):  # type: ignore[no-untyped-def]
    bound = any(loop.thread_binding for loop in nodes(func, ir.For))
    return func.without_attr("target") if bound else func


@tirx.transform.prim_func_pass(opt_level=0)
def of_shared_memory(func, mod, context):  # type: ignore[no-untyped-def]
    shared = any(each.buffer.scope() == "shared.dyn" for each in nodes(func, tirx.BufferStore))
    return func.without_attr("target") if shared else func


@tirx.transform.prim_func_pass(opt_level=0)
def of_any_loop(func, mod, context):  # type: ignore[no-untyped-def]
    shared = any(loop.kind == tirx.ForKind.PARALLEL for loop in nodes(func, ir.For))
    return func.without_attr("target") if shared else func


@tvm.transform.module_pass(opt_level=0)
def schedules(mod, context):  # type: ignore[no-untyped-def]
    schedule = s_tir.Schedule(mod)
    schedule.bind(schedule.get_loops("compute")[0], "threadIdx.x")
    return schedule.mod


@tvm.transform.module_pass(opt_level=0)
def of_both(mod, context):  # type: ignore[no-untyped-def]
    stores = [nodes(func, tirx.BufferStore) for func in mod.functions.values()]
    return mod.without_attr("a") if stores and nodes(mod["main"], relax.SeqExpr) else mod


@tvm.transform.module_pass(opt_level=0)
def of_bindings(mod, context):  # type: ignore[no-untyped-def]
    return mod.without_attr("a") if nodes(mod["main"], relax.SeqExpr, tirx.IntImm) else mod


def test_the_code_of_a_pass_chooses_its_families() -> None:
    for name, families in (
        ("schedules", ("tensorir", "dlight")),
        ("of_both", ("relax", "tensorir")),
        ("of_bindings", ()),
        ("of_threads", ("tensorir", "dlight")),
        ("of_shared_memory", ("tensorir", "dlight")),
        ("of_any_loop", ("tensorir",)),
    ):
        named = names_in(globals()[name], globals(), name)
        assert families_of_pass(globals()[name], named) == families
    on_relax = relax.transform.FoldConstant()
    assert families_of_pass(on_relax, Named(threads=True)) == ()


def test_parts_of_a_sequential_choose_its_family() -> None:
    on_prim_funcs = tirx.transform.RemoveNoOp()
    on_relax = relax.transform.FoldConstant()
    sequential = tvm.transform.Sequential
    assert family_by_type(sequential([on_prim_funcs, sequential([on_prim_funcs])])) == "tensorir"
    assert family_by_type(sequential([on_prim_funcs, on_relax])) is None
    assert family_by_type(sequential([])) is None
    assert family_by_type(relax.transform.LegalizeOps()) is None


def test_a_schedule_of_ones_own_rules_gets_kernels() -> None:
    schedule = dlight.ApplyDefaultSchedule(dlight.gpu.Reduction(), dlight.gpu.Fallback())
    assert family_by_type(schedule) == "dlight"
    assert family_by_type(s_tir.transform.ThreadSync("shared")) == "dlight"
