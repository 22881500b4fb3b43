"""Modules around what triggers known bugs, where these hide too much of a pass."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from relaxfuzz.corpus.triggers import TRIGGERS
from relaxfuzz.fuzz.campaign import steering
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.findings.known import Choice, shares
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import PassStats, Recipe, Target
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.violation import Identity

KNOWN: Identity = ("crash", "P", ("ValueError",), "")
NEW: Identity = ("crash", "P", ("KeyError",), "")

MODULES = 40


def test_what_known_bugs_end_too_often_is_hidden() -> None:
    stats = {name: PassStats(checks=20) for name in ("often", "seldom", "new")}
    ended = {"often": {KNOWN: 6, NEW: 1}, "seldom": {KNOWN: 5}, "new": {NEW: 20}}
    assert steering.hidden(stats, ended, {KNOWN}) == ("often",)
    steered = {"often": PassStats(checks=20, avoided=20)}
    assert steering.hidden(steered, {}, {KNOWN}) == ("often",), "it is not let go"
    few = {"often": PassStats(checks=steering.CHECKS - 1)}
    assert steering.hidden(few, ended, {KNOWN}) == ()


def test_one_block_in_eight_is_not_steered() -> None:
    are_open = [steering.is_open(5, number) for number in range(800)]
    assert 70 <= sum(are_open) <= 130
    assert are_open == [steering.is_open(5, number) for number in range(800)]


def test_half_of_the_other_blocks_are_made_for_a_hidden_pass() -> None:
    avoid = {"LazySetOutput": ("computes_with_numbers",), "FuseOps": ("calls_a_function",)}
    plain = Recipe(ops=("add",))
    made = [
        steering.steered(plain, ("LazySetOutput", "untriggered"), avoid, 5, number)
        for number in range(400)
    ]
    changed = [recipe for recipe in made if recipe != plain]
    assert 150 <= len(changed) <= 250
    assert {recipe.disabled for recipe in changed} == {(Trait.NUMBERS,)}


def test_what_the_recipe_forces_and_the_pass_looks_for_stays() -> None:
    avoid = {"MergeCompositeFunctions": ("calls_no_operator", "casts_by_match")}
    recipe = Recipe(forced=(Trait.MATCH_CAST,))
    made = {
        steering.steered(recipe, ("MergeCompositeFunctions",), avoid, 5, number)
        for number in range(20)
    }
    (steered,) = made - {recipe}
    assert Trait.CLOSURES in steered.disabled
    assert not {Trait.MATCH_CAST, Trait.COMPOSITE, Trait.FUNCTION_CALLS} & {*steered.disabled}


@pytest.mark.parametrize(
    "name", [name for name, each in TRIGGERS.items() if each.without or each.forced]
)
def test_modules_without_these_traits_are_triggered_less(name: str) -> None:
    trigger = TRIGGERS[name]

    def share(without: Sequence[Trait], force: Sequence[Trait]) -> float:
        strategy = ir_modules(without=without, force=force)
        return sum(trigger(example(strategy, 3, index)) for index in range(MODULES)) / MODULES

    usual, steered = share((), ()), share(trigger.without, trigger.forced)
    assert steered <= usual * 0.7, (usual, steered)


def test_fewer_checks_end_in_known_bugs() -> None:
    """The same ones with any number of workers."""
    targets = (Target("LazySetOutput"),)
    expected = Choice(folders=()).load("0.27.0.post1")

    def finished(workers: int) -> Finished:
        config = CampaignConfig(
            seed=3,
            targets=targets,
            modules=96,
            modules_in_block=4,
            oracles=("crash", "well-formed"),
            compositions=False,
            avoid=expected.triggers(targets),
            is_known=expected.has_key,
        )
        with LocalPool(workers) as pool:
            *_, last = run(config, pool)
        assert isinstance(last, Finished)
        return last

    one, two = finished(1), finished(2)
    assert one.occurrences == two.occurrences
    done = one.stats["LazySetOutput"]
    assert (done.checks, done.avoided) == (
        two.stats["LazySetOutput"].checks,
        two.stats["LazySetOutput"].avoided,
    )
    assert 0 < shares(one, set(one.occurrences))["LazySetOutput"].known <= 0.3 * done.checks
