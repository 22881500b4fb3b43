"""Campaigns around real modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvm import relax

from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import Finished, Found
from relaxfuzz.fuzz.campaign.seeds import PIECES, with_pieces
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import Recipe, Target
from relaxfuzz.fuzz.user_input.options import Relaxations
from relaxfuzz.fuzz.user_input.targets import targets
from relaxfuzz.generators.seeds import Piece, pieces_of

NAMES = tuple(Piece(f"piece {number}", "") for number in range(20))

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
        made = [with_pieces(Recipe(), NAMES, share, 1, number) for number in range(400)]
        some = sum(bool(recipe.pieces) for recipe in made) / len(made)
        assert abs(some - share) < 0.1


def test_all_pieces_come_in_turn() -> None:
    made = [with_pieces(Recipe(), NAMES, 1.0, 1, number) for number in range(10)]
    assert {piece.name for recipe in made for piece in recipe.pieces} == {p.name for p in NAMES}
    assert all(len(set(recipe.pieces)) == PIECES for recipe in made)
    again = [with_pieces(Recipe(), NAMES, 1.0, 1, number) for number in range(10)]
    assert made == again
    assert made != [with_pieces(Recipe(), NAMES, 1.0, 2, number) for number in range(10)]


def test_few_pieces() -> None:
    assert with_pieces(Recipe(), NAMES[:2], 1.0, 1, 0).pieces in (NAMES[:2], NAMES[1::-1])
    assert with_pieces(Recipe(), (), 1.0, 1, 0) == Recipe()


@pytest.fixture
def own(tmp_path: Path) -> tuple[Target, ...]:
    file = tmp_path / "own.py"
    file.write_text(DROPS)
    return targets((f"{file}:drops",), Relaxations())


def test_a_campaign_finds_what_only_the_seeds_have(own: tuple[Target, ...]) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 512), "float32"))
    with builder.function("main", [x]):
        y = builder.emit(relax.op.nn.softmax(builder.emit(relax.op.cumsum(x, axis=1))))
        builder.emit_func_output(y)
    seeds = tuple(pieces_of(builder.finalize(), "model"))
    found = {}
    with LocalPool(1) as pool:
        for given in ((), seeds):
            config = CampaignConfig(
                seed=1, targets=own, modules=16, oracles=("crash",), seeds=given, seed_share=1.0
            )
            events = list(run(config, pool))
            assert isinstance(events[-1], Finished)
            # Pipelines have findings of their own.
            found[given] = [e for e in events if isinstance(e, Found) and e.pipeline is None]
    assert found[()] == []
    (only,) = found[seeds]
    assert "a softmax and a cumsum" in only.violation.detail
    stored = only.finding({"tvm": "1"}, ()).recipe
    assert stored.pieces
    assert all(p.name.startswith("model, main, bindings 0 to 1") for p in stored.pieces)
    assert not any(piece.text for piece in stored.pieces), "stored without the user's module"
