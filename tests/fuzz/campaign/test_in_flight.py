"""Blocks in flight: which replies count."""

from __future__ import annotations

import dataclasses

from relaxfuzz.fuzz.campaign.block import CUTTING, Block, ModuleDone, StageDone
from relaxfuzz.fuzz.campaign.in_flight import InFlight
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.process.protocol import Death, Died, Position, Result
from relaxfuzz.fuzz.process.targets import Origin, PassStats, Target
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.violation import Violation

POSITION = Position(3, Stage.RAW, 1, "Foo", (), None, "crash")


def block() -> InFlight:
    part = Block(seed=1, start=2, count=4, targets=(Target("Foo"),))
    return InFlight(0, part, end=6)


def hear(block: InFlight, index: int) -> None:
    """A module with three checks, one of which found something."""
    violation = Violation("it fell", "", ("a",)).blame("crash", "Foo")
    stats = {"Foo": PassStats(checks=2, violations=1), "sequence": PassStats(checks=1)}
    block.add(Result(0, UnconfirmedFinding(violation, "{}", Origin(1, index), (), None)))
    block.add(Result(0, StageDone(index, Stage.RAW, stats)))
    block.add(Result(0, ModuleDone(index)))


def test_replies_are_counted() -> None:
    flying = block()
    hear(flying, 2)
    hear(flying, 3)
    assert (flying.checks, flying.violations, flying.modules) == (6, 2, 2)
    assert flying.stats()["Foo"].checks == 4
    assert len(flying.replies) == 6


def test_what_is_void_does_not_count() -> None:
    flying = block()
    hear(flying, 2)
    flying.discard()
    assert (flying.checks, flying.violations, flying.modules, flying.replies) == (0, 0, 0, [])


def test_replies_before_a_death_stay() -> None:
    flying = block()
    hear(flying, 2)
    died = Died(0, Death.SEGFAULT, -11, POSITION)
    flying.settle(died)
    flying.discard()
    assert (flying.checks, flying.violations, flying.modules) == (3, 2, 1)
    assert flying.replies[-1] is died
    hear(flying, 3)
    assert (flying.checks, flying.violations, flying.modules) == (6, 3, 2)


def test_the_rest_of_a_block_begins_after_the_check_that_died() -> None:
    flying = block()
    hear(flying, 2)
    died = Died(0, Death.SEGFAULT, -11, POSITION)
    flying.settle(died)
    rest = flying.rest(died)
    assert rest is not None
    assert rest.rest.resume is not None
    assert (rest.start, rest.count, rest.rest.resume.ordinal) == (3, 3, 2)
    assert rest.rest.checked == {"Foo": 2, "sequence": 1}
    assert rest.rest.visited == {"Foo": 2, "sequence": 1}


def test_a_death_in_the_search_for_a_part_is_met_once_more() -> None:
    flying = block()
    died = Died(0, Death.SEGFAULT, -11, dataclasses.replace(POSITION, step=CUTTING))
    for careful, ordinal in ((True, 1), (False, 2)):
        flying.settle(died)
        rest = flying.rest(died)
        assert rest is not None
        assert rest.rest.resume is not None
        assert (rest.rest.careful, rest.rest.resume.ordinal) == (careful, ordinal)
        flying.part = rest


def test_what_kills_repeatedly_is_left_out() -> None:
    flying = block()
    for _ in range(5):
        died = Died(0, Death.SEGFAULT, -11, POSITION)
        rest = flying.rest(died)
        assert rest is not None
        assert rest.rest.banned == ()
        flying.settle(died)
    rest = flying.rest(died)
    assert rest is not None
    assert rest.rest.banned == ("Foo",)
