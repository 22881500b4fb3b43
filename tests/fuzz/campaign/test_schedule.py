"""What is checked next."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
import tvm

from relaxfuzz.fuzz.campaign import costs, schedule
from relaxfuzz.fuzz.campaign.schedule import ItemKind, ScheduleItem
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles import contexts
from relaxfuzz.oracles.contract import PassContract, Sought
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.tiers import ORACLES, USUAL


def contract(name: str, *stages: Stage) -> PassContract:
    return PassContract(name=name, variants=lambda c, mod: None, stages=stages or (Stage.RAW,))


DEAR = next(name for name, cost in costs.PASSES.items() if cost.share is None)


CONTRACTS = {
    **{f"cheap{i}": contract(f"cheap{i}") for i in range(60)},
    **{f"late{i}": contract(f"late{i}", Stage.ALLOCATED) for i in range(4)},
    DEAR: contract(DEAR),
}
SUBJECTS = [Target(name) for name in CONTRACTS]


def simulate(items: list[ScheduleItem], modules: int) -> Counter[str]:
    """Checks by item, where every item applies to every module at its stages."""
    checked: Counter[str] = Counter()
    order = list(Stage)
    for index in range(modules):
        random = Random(index)
        to = schedule.destination(items, checked, random)
        for stage in order[: order.index(to) + 1]:
            here = [item for item in items if item.at(stage, checked)]
            chosen = schedule.neediest(here, checked, random)[: schedule.checks_at(stage)]
            checked.update(item.name for item in chosen)
    return checked


def test_shares_add_up() -> None:
    for compositions in (True, False):
        items = schedule.items(SUBJECTS, CONTRACTS, compositions)
        assert sum(item.share for item in items) == pytest.approx(1)
        assert all(item.share >= 0.01 for item in items if item.kind is schedule.ItemKind.PASS)


def test_every_item_gets_its_share_of_the_checks() -> None:
    items = schedule.items(SUBJECTS, CONTRACTS, True)
    checked = simulate(items, 1000)
    for item in items:
        assert checked[item.name] / checked.total() >= 0.9 * item.share, item


def test_dear_passes_get_no_more_than_their_share() -> None:
    items = schedule.items(SUBJECTS[:3] + SUBJECTS[-1:], CONTRACTS, False)
    checked = simulate(items, 1000)
    assert 0.9 < checked[DEAR] / checked.total() / schedule.LEAST < 1.1


def test_modules_go_where_the_neediest_item_is_at_home() -> None:
    items = schedule.items(SUBJECTS, CONTRACTS, False)
    checked = Counter({item.name: 10 for item in items if item.name != "late3"})
    assert schedule.destination(items, checked, Random(1)) is Stage.ALLOCATED


def test_a_subject_may_be_kept_to_some_stages() -> None:
    target = Target("cheap1", None, (Stage.FUSED,))
    (item,) = schedule.items([target], CONTRACTS, False)
    assert item == ScheduleItem("cheap1", ItemKind.PASS, 1.0, frozenset({Stage.FUSED}))


def test_pipelines_are_left_where_no_pass_is_checked() -> None:
    kinds = {item.kind for item in schedule.items([], {}, compositions=True)}
    assert kinds == {ItemKind.PIPELINE}
    assert not schedule.items([], {}, compositions=False)


def test_higher_tiers_are_sampled_on_few_modules_each() -> None:
    drawn: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for module in range(5_000):
        among = schedule.oracles_of_module(Random(module))
        checks = [schedule.oracles(among, Random(-module - n)) for n in range(8)]
        drawn.update(name for each in checks for name in each)
        modules.update({name for each in checks for name in each})
    for name, oracle in ORACLES.items():
        sampled = oracle.tier > 1 and name in USUAL
        share = schedule.share(oracle) if sampled else 0.0
        assert 0.5 * share <= drawn[name] / 40_000 <= 1.5 * share, name
        most = schedule.spread(oracle) if sampled else 0.0
        assert modules[name] / 5_000 <= 1.2 * most, name


def test_a_device_is_used_where_somebody_wants_it_and_changes_nothing_else() -> None:
    wanted = 0
    for module in range(2_000):
        plain = schedule.oracles_of_module(Random(module))
        among = schedule.oracles_of_module(Random(module), "cuda")
        assert among[: len(plain)] == plain
        asked = set(schedule.oracles(among, Random(-module)))
        others = asked - {"executed-on-cuda", "evaluated", "sanitized"}
        assert others <= set(schedule.oracles(plain, Random(-module)))
        assert not {name for name in asked if name.startswith("executed-on-")} - {
            "executed-on-cuda"
        }
        if "executed-on-cuda" in asked:
            wanted += 1
            assert asked >= {"evaluated", "sanitized"}, "what has other values is no matter of code"
    assert wanted / 2_000 == pytest.approx(schedule.ON_DEVICE, abs=0.03)


def test_a_share_of_the_checks_of_tvms_passes_is_under_an_option() -> None:
    bare = (PassCall("Normalize()"), PassCall("FuseOps()"))
    drawn = [schedule.in_context(bare, Random(seed)) for seed in range(4000)]
    under = [calls for calls in drawn if calls != bare]
    assert 0.5 * schedule.CONTEXTS < len(under) / len(drawn) < 1.5 * schedule.CONTEXTS
    assert all(len({tuple(call.config) for call in calls}) == 1 for calls in under)
    assert {key for calls in under for key in calls[0].config} == contexts.options().keys()

    own = (PassCall("Mine()", factory="mine:Mine"),)
    assert all(schedule.in_context(own, Random(seed)) is own for seed in range(100))


def test_passes_are_checked_mostly_where_there_is_what_they_look_for() -> None:
    mod = tvm.IRModule()
    random = Random(1)
    for has, share in ((True, 1.0), (False, schedule.ELSEWHERE)):
        sought = PassContract(name="p", looks_for=Sought(lambda mod, has=has: has))
        done = [schedule.worthwhile(sought, mod, random) for _ in range(1000)]
        assert sum(done) / 1000 == pytest.approx(share, abs=0.04)
    assert schedule.worthwhile(PassContract(name="p"), mod, random)


def test_blocks_cover_all_modules() -> None:
    size = schedule.MODULES_IN_BLOCK
    assert list(schedule.blocks(2 * size + 1)) == [(0, size), (size, size), (2 * size, 1)]


def test_a_few_blocks_have_all_operators() -> None:
    names = [f"op{number}" for number in range(schedule.OPERATORS * 5 + 3)]
    blocks = [schedule.operators(names, 1, number) for number in range(10)]
    for cycle in (blocks[:5], blocks[5:]):
        assert sorted(op for block in cycle for op in block) == sorted(names)
    assert blocks[:5] != blocks[5:]
    assert schedule.operators(names[:3], 1, 7) == schedule.operators(names[2::-1], 1, 7)
    assert set(schedule.operators(names[:3], 1, 7)) == set(names[:3])
