"""Modules around what known bugs need, where these hide too much of a pass."""

from __future__ import annotations

import pytest
import tvm

from relaxfuzz.fuzz.campaign import steering
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import BlockDone, Finished
from relaxfuzz.fuzz.campaign.features import WITHOUT
from relaxfuzz.fuzz.campaign.state import State
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import Avoid, PassStats, Recipe, Target
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.violation import Mark

KNOWN: Mark = ("crash", "P", "ValueError", "(n > 0)")


def test_what_known_bugs_end_too_often_is_hidden() -> None:
    stats = {name: PassStats(checks=20) for name in ("often", "seldom", "new")}
    known = {"often": 6, "seldom": 5}
    assert steering.hidden(stats, known) == ("often",)
    steered = {"often": PassStats(checks=20, avoided=20)}
    assert steering.hidden(steered, {}) == ("often",), "it is not let go"
    few = {"often": PassStats(checks=steering.CHECKS - 1)}
    assert steering.hidden(few, known) == ()


def chance(checks: int, triggered: int, avoided: int, known: int) -> float:
    stats = {"P": PassStats(checks=checks, triggered=triggered, avoided=avoided)}
    return steering.chances(stats, {"P": known})["P"]


def test_modules_with_a_pattern_are_checked_as_often_as_leaves_the_others_in_the_majority() -> None:
    assert chance(checks=100, triggered=10, avoided=0, known=10) == 1, "they are rare anyway"
    assert chance(checks=10, triggered=0, avoided=90, known=0) == pytest.approx(5 / 90)
    assert chance(checks=20, triggered=15, avoided=80, known=15) == steering.LEAST, "too many yet"
    assert chance(checks=20, triggered=0, avoided=0, known=15) == steering.LEAST, "nobody steered"


def test_a_pattern_is_what_all_modules_of_a_known_bug_have() -> None:
    state = State()
    for features in ("abcd", "abce", "abf"):
        assert not steering.patterns(state.ended, state.patterns), "fewer may be chance"
        state.is_new(KNOWN, "P")
        state.compare(KNOWN, features)
    assert steering.patterns(state.ended, state.patterns) == {"P": (("a", "b"),)}
    again = State.from_json(state.to_json())
    assert again.patterns == state.patterns


def test_a_pattern_lacks_one_feature_in_each_block() -> None:
    pattern = ("MatchCast", "attribute Composite", "dtype float32", "relax.add", "relax.exp")
    avoid = {"MergeCompositeFunctions": Avoid(patterns=(pattern,))}
    recipe = Recipe(ops=("add", "sin > add", "tanh"))
    made = {
        steering.steered(recipe, ("MergeCompositeFunctions",), avoid, 5, number)
        for number in range(100)
    }
    without_casts = WITHOUT["MatchCast"]
    assert {(each.ops, set(each.disabled) == set(without_casts)) for each in made - {recipe}} == {
        (recipe.ops, True),
        (("tanh",), False),
    }, "the pass looks for composite functions; the other operator is not used anyway"


def test_half_of_the_blocks_are_made_for_a_hidden_pass() -> None:
    avoid = {
        "LazySetOutput": Avoid((("PrimType",),)),
        "FuseOps": Avoid((("call of a function",),)),
    }
    plain = Recipe(ops=("add",))
    made = [
        steering.steered(plain, ("LazySetOutput", "without a pattern"), avoid, 5, number)
        for number in range(400)
    ]
    changed = [recipe for recipe in made if recipe != plain]
    assert 150 <= len(changed) <= 250
    assert {recipe.disabled for recipe in changed} == {(Trait.NUMBERS,)}


def test_what_the_recipe_forces_and_the_pass_looks_for_stays() -> None:
    patterns = (("local function",), ("call of a function", "attribute Composite"), ("MatchCast",))
    avoid = {"MergeCompositeFunctions": Avoid(patterns)}
    recipe = Recipe(forced=(Trait.MATCH_CAST,))
    made = {
        steering.steered(recipe, ("MergeCompositeFunctions",), avoid, 5, number)
        for number in range(20)
    }
    (steered,) = made - {recipe}
    assert {*steered.disabled} == {
        *(Trait.CLOSURES, Trait.CODEGEN, Trait.HELPERS, Trait.RECURSION, Trait.ANY),
    }


def test_fewer_checks_show_known_bugs(pool: LocalPool) -> None:
    """The same ones with any number of workers."""
    expected = Choice(folders=()).load(tvm.__version__)

    def finished(pool: LocalPool) -> Finished:
        config = CampaignConfig(
            seed=3,
            targets=(Target("FastMathTransform"),),
            modules=240,  # patterns are learned first
            modules_in_block=2,
            oracles=("crash",),
            compositions=False,
            is_known=expected.presumes,
        )
        *_, last = run(config, pool)
        assert isinstance(last, Finished)
        return last

    with LocalPool(1) as alone:
        one, two = finished(alone), finished(pool)
    assert (one.occurrences, one.known) == (two.occurrences, two.known)
    done, other = one.stats["FastMathTransform"], two.stats["FastMathTransform"]
    assert (done.checks, done.avoided) == (other.checks, other.avoided)
    assert done.avoided > 0
    share = one.known["FastMathTransform"] / done.checks
    assert 0 < share <= 0.5, "without steering it is 0.56"


def test_a_pass_that_changes_its_input_has_a_pattern_of_the_input(pool: LocalPool) -> None:
    """The features are those of the module that showed the bug, not of what became of it."""
    config = CampaignConfig(
        seed=3,
        targets=(Target("UpdateVDevice"),),
        modules=24,
        oracles=("mutation",),
        compositions=False,
        is_known=lambda found: True,
    )
    *events, last = run(config, pool)
    *_, done = [each for each in events if isinstance(each, BlockDone)]
    assert isinstance(last, Finished)
    assert last.known["UpdateVDevice"] == sum(last.occurrences.values()) > 0
    (pattern,) = done.state.patterns.values()
    assert pattern >= {"tensor on a device", "global info vdevice"}
