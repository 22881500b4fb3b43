"""Sequences of passes: each applies where it stands, in orders of pipelines and in new ones."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pytest
import tvm

from relaxfuzz.fuzz.campaign import schedule
from relaxfuzz.fuzz.campaign.sequences import Sequences
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.jobs.jobs import contract_of
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles import pipelines
from relaxfuzz.oracles.passcall import PassCall

STEPS = {call.name for name in pipelines.PIPELINES for call in pipelines.steps(name)}
OTHERS = ("LambdaLift", "Normalize", "DeadCodeElimination", "CanonicalizeBindings")
TARGETS = [Target(name) for name in (*sorted(STEPS - {"FoldConstant"}), *OTHERS)]
"""Without the one that compiles code, to be quick."""
CONTRACTS = {target.label: contract_of(target) for target in TARGETS}
ITEMS = schedule.items(TARGETS, CONTRACTS, False)
SEQUENCES = Sequences(3, ITEMS, CONTRACTS)

Drawn = tuple[tvm.IRModule, tuple[PassCall, ...]]


def draw(mod: tvm.IRModule, index: int) -> tuple[PassCall, ...]:
    return SEQUENCES.draw(mod, Stage.RAW, index, Random(index), lambda calls, step: None)


@pytest.fixture(scope="module")
def drawn() -> list[Drawn]:
    modules = ir_modules(force=[Trait.CLOSURES])
    mods = [example(modules, 3, index) for index in range(48)]
    return [(mod, draw(mod, index)) for index, mod in enumerate(mods)]


def pairs(drawn: list[Drawn]) -> Counter[tuple[str, str]]:
    return Counter(
        pair for _, calls in drawn for pair in itertools.pairwise(call.name for call in calls)
    )


def test_each_pass_applies_where_it_stands(drawn: list[Drawn]) -> None:
    for mod, calls in drawn:
        for call in calls[:-1]:
            assert CONTRACTS[call.name].requires(mod) is None
            mod = call.run(mod)
        assert CONTRACTS[calls[-1].name].requires(mod) is None
    lengths = {len(calls) for _, calls in drawn}
    assert max(lengths) == schedule.SEQUENCE_LENGTHS[1]
    assert len(lengths) > 4


def test_passes_of_later_stages_follow_those_that_lead_there(drawn: list[Drawn]) -> None:
    raw = {item.name for item in ITEMS if Stage.RAW in item.stages}
    later = [calls for _, calls in drawn if not {call.name for call in calls} <= raw]
    assert later
    for calls in later:
        names = [call.name for call in calls]
        first = next(number for number, name in enumerate(names) if name not in raw)
        assert PassCall("LegalizeOps()") in calls[:first]


def test_many_neighbours_are_those_of_pipelines(drawn: list[Drawn]) -> None:
    known = {
        pair
        for name in pipelines.PIPELINES
        for pair in itertools.pairwise(call.name for call in pipelines.steps(name))
    }
    found = pairs(drawn)
    assert len(found.keys() & known) >= 5
    assert found.keys() - known


def test_no_pair_comes_again_before_all_others() -> None:
    names = [item.name for item in ITEMS]
    for after in names[:3]:
        firsts = [schedule.in_turn(names, after, turn, 1)[0] for turn in range(7, 7 + len(names))]
        assert sorted(firsts) == sorted(names)
        assert sorted(schedule.in_turn(names, after, 5, 1)) == sorted(names)
    orders = {tuple(schedule.in_turn(names, after, 0, 1)) for after in names}
    assert len(orders) == len(names)


def test_a_pass_that_raises_ends_its_sequence(drawn: list[Drawn]) -> None:
    """A fault that only another pass brings about is one that no check of one pass meets."""
    gone = PassCall("Gone()", factory="no.such.module:Gone")
    target = Target("Gone", gone)
    contracts = {target.label: contract_of(target)}
    only = Sequences(3, schedule.items([target], contracts, False), contracts)
    mod, _ = drawn[0]
    assert only.draw(mod, Stage.RAW, 0, Random(0), lambda calls, step: None) == (gone,)
