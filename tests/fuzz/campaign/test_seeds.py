"""Campaigns around real modules."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.campaign.block import Block
from relaxfuzz.fuzz.campaign.campaign import SMALL, TURN, CampaignConfig, _blocks, run
from relaxfuzz.fuzz.campaign.events import BlockDone, Finished
from relaxfuzz.fuzz.campaign.seeds import (
    PIECES,
    Seeds,
    with_pieces,
)
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.loading.targets import targets
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import Recipe, Target
from relaxfuzz.fuzz.user_input.settings import Relaxations
from relaxfuzz.generators.seeds import Piece, Whole, pieces_of, whole_of
from relaxfuzz.oracles.pipelines import PIPELINES

NAMES = tuple(Piece(f"piece {number}", "", digest=str(number)) for number in range(20))


def seeded(share: float, seed: int, number: int) -> Recipe:
    return with_pieces(Recipe(), [Seeds(NAMES, share)], seed, number)


DROPS = """\
import tvm
from tvm import relax

def drops():
    def transform(mod, context):
        if "R.nn.softmax" in (text := mod.script(show_meta=False)) and "R.cumsum" in text:
            raise ValueError("a softmax and a cumsum")
        return mod
    return tvm.transform.module_pass(transform, opt_level=0, name="Drops")
"""


def test_the_share_of_blocks() -> None:
    for share in (0.0, 0.5, 1.0):
        made = [seeded(share, 1, number) for number in range(400)]
        some = sum(bool(recipe.pieces) for recipe in made) / len(made)
        assert abs(some - share) < 0.1


def test_all_pieces_come_in_turn() -> None:
    made = [seeded(1.0, 1, number) for number in range(10)]
    assert {piece.name for recipe in made for piece in recipe.pieces} == {p.name for p in NAMES}
    assert all(len(set(recipe.pieces)) == PIECES for recipe in made)
    again = [seeded(1.0, 1, number) for number in range(10)]
    assert made == again
    assert made != [seeded(1.0, 2, number) for number in range(10)]


def test_a_block_has_pieces_of_one_kind() -> None:
    first, second = Seeds(NAMES[:10], 0.5), Seeds(NAMES[10:], 0.3)
    made = [with_pieces(Recipe(), [first, second], 1, number).pieces for number in range(400)]
    shares = [sum(bool(set(p) & set(each.pieces)) for p in made) / 400 for each in (first, second)]
    assert abs(shares[0] - 0.5) < 0.1
    assert abs(shares[1] - 0.3) < 0.1
    assert not any(set(p) & set(NAMES[:10]) and set(p) & set(NAMES[10:]) for p in made)


@pytest.fixture
def own(tmp_path: Path) -> tuple[Target, ...]:
    file = tmp_path / "own.py"
    file.write_text(DROPS)
    return targets((f"{file}:drops",), Relaxations())


@pytest.mark.session
def test_a_campaign_finds_what_only_the_seeds_have(
    own: tuple[Target, ...], pool: LocalPool
) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 512), "float32"))
    with builder.function("main", [x]):
        y = builder.emit(relax.op.nn.softmax(builder.emit(relax.op.cumsum(x, axis=1))))
        builder.emit_func_output(y)
    seeds = tuple(pieces_of(builder.finalize(), "model"))
    found = {}
    for given in ((), seeds):
        config = CampaignConfig(
            seed=1,
            targets=own,
            modules=16,
            oracles=("crash",),
            compositions=False,  # pipelines have findings of their own
            seeds=(Seeds(given, 1.0),),
        )
        events = list(run(config, pool))
        assert isinstance(events[-1], Finished)
        found[given] = [event for event in events if isinstance(event, UnconfirmedFinding)]
    assert found[()] == []
    (only,) = found[seeds]
    assert "a softmax and a cumsum" in only.violation.detail
    origin = only.finding({"tvm": "1"}, ()).origin
    assert origin is not None
    stored = origin.recipe
    assert stored.pieces
    assert all(p.name.startswith("model, main, bindings 0 to 1") for p in stored.pieces)
    assert not any(piece.text for piece in stored.pieces), "stored without the user's module"


def endless() -> tvm.IRModule:
    """A sum that no pipeline lowers: `full` of infinity is a known bug."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 512), "float32"))
    with builder.function("main", [x]):
        y = relax.op.full((4, 512), relax.const(math.inf, "float32"), "float32")
        builder.emit_func_output(builder.emit(relax.op.add(x, builder.emit(y))))
    return builder.finalize()


def test_wholes_are_checked_once(own: tuple[Target, ...], pool: LocalPool) -> None:
    made = whole_of(endless(), "model")
    assert made is not None
    config = CampaignConfig(
        seed=1, targets=own, modules=2, oracles=("crash",), seeds=(Seeds((), 1.0, (made,)),)
    )
    found: list[UnconfirmedFinding] = []
    done: list[BlockDone] = []
    for event in run(config, pool):
        if isinstance(event, UnconfirmedFinding):
            found.append(event)
        if isinstance(event, BlockDone):
            done.append(event)
    first, *others = done
    (label,) = set(first.stats) - set(PIPELINES)
    assert label == own[0].label, "no sequence"
    assert all(each.checks == 1 for each in first.stats.values())
    assert found[0].pipeline in PIPELINES
    assert "512" in found[0].module, "as it is"
    origin = found[0].finding({"tvm": "1"}, ()).origin
    assert origin is not None
    stored = origin.recipe
    assert [piece.name for piece in stored.pieces] == ["model"]
    assert stored.whole is None, "stored without the user's module"
    assert [each.number for each in others] == [1], "not again"


def test_wholes_are_checked_in_turn_with_generated_modules(own: tuple[Target, ...]) -> None:
    small, large = SMALL * 6 // 10, 2 * SMALL
    sizes = {"a": small, "X": large, **dict.fromkeys("bcdefghijklmnopqrs", small), "Y": large}
    made = tuple(Whole(name, size * " ", name) for name, size in sizes.items())
    turn = "abcdefghijklmnopq"
    assert (len(turn) - 1) * small < TURN <= len(turn) * small
    for modules, order in ((1, f"{turn}|.|rs|X|Y|"), (64, f"{turn}|.|rs|.|X|.|Y|.|")):
        config = CampaignConfig(seed=1, targets=own, modules=modules, seeds=(Seeds((), 1.0, made),))
        blocks = list(_blocks(config))
        found = ["".join(each.name for each in wholes) or "." for *_, wholes in blocks]
        assert "".join(f"{each}|" for each in found) == order
        assert all(count == len(wholes) for _, count, wholes in blocks if wholes)


def test_a_whole_is_found_again_after_a_death() -> None:
    wholes = tuple(Whole(name, "", name) for name in "abcd")
    block = Block(seed=1, start=10, count=4, targets=(), wholes=wholes)
    rest = dataclasses.replace(block, start=12, count=2)
    for index, name in zip(range(10, 14), "abcd", strict=True):
        assert block.made_of(index).whole == rest.made_of(index).whole == Whole(name, "", name)
