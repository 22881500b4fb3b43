"""How far a campaign is, folded from its blocks."""

from __future__ import annotations

import random

from relaxfuzz.fuzz.campaign.focus import horizon
from relaxfuzz.fuzz.campaign.state import State
from relaxfuzz.fuzz.process.block import ModuleDone
from relaxfuzz.fuzz.process.targets import PassStats, Recipe
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.seeds import Edit, Piece

PASSES = [f"P{n}" for n in range(60)]
PIECES = [Piece(f"piece {n}", "", digest=f"{n:016x}") for n in range(100)]
EDITS = [edit.value for edit in Edit]
BUGS = [("crash", f"P{n % 60}", f"a condition of some length, number {n}", "") for n in range(200)]


def fold(state: State, blocks: int) -> State:
    """More blocks of a campaign that has met all operators and bugs that there are."""
    draws = random.Random(state.blocks)
    ops = list(table)
    for _ in range(blocks):
        for _ in range(5):
            bug = draws.choice(BUGS)
            state.is_new(bug, bug[1])
        state.count(16, {name: PassStats(20, 2, 0, 0.1, 0, 3, {"json": 1}) for name in PASSES})
        changed = {name: draws.random() < 0.3 for name in draws.sample(PASSES, 20)}
        seen = tuple(draws.sample(ops, 20))
        seeded = Recipe(pieces=tuple(draws.sample(PIECES, 6)), edits=tuple(draws.sample(EDITS, 7)))
        recipe = seeded if draws.random() < 0.2 else Recipe()
        state.commit([ModuleDone(0, seen, changed)], state.seconds + 1, recipe, draws.randrange(2))
    return state


def test_a_long_campaign_has_a_state_as_small_as_a_short_one() -> None:
    state = fold(State(), 400)
    short = len(state.to_json())
    assert fold(state, 600).checks > 1_000_000
    # Counts have more digits, that is all.
    assert len(state.to_json()) < 1.3 * short < 500_000


def test_what_is_written_is_read() -> None:
    state = fold(State(), 41)
    restored = State.from_json(state.to_json())
    assert restored == state
    assert restored.to_json() == state.to_json()
    assert fold(restored, 30) == fold(state, 30)


def test_every_block_to_come_has_its_guide() -> None:
    state = State()
    for committed in range(200):
        assert state.blocks == committed
        for number in range(committed, 2 * committed + 2):
            if horizon(number) <= committed:
                assert state.guide(number) is state.guides[horizon(number)]
        assert len(state.guides) <= 3
        fold(state, 1)
    assert all(each.yields and each.surest and each.pieces for each in state.guides.values())
