"""Who yields gets more checks, nobody starves."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from relaxfuzz.fuzz.campaign.plateau import CHANGED, LEAST, MOST, PIPELINE, SEQUENCE, shares, yields
from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.oracles.violation import Mark


def violations(*counts: int, of: str = "P") -> dict[Mark, int]:
    return {("crash", of, (str(n),), ""): count for n, count in enumerate(counts)}


def checked(**checks: int) -> dict[str, PassStats]:
    return {item: PassStats(checks=count) for item, count in checks.items()}


def test_new_violations_yield_more_than_repeated_ones() -> None:
    stats = checked(new=1000, same=1000, nothing=1000)
    found = yields(stats, {"new": violations(1, 1, 1, 1, 1), "same": violations(50, 60, 70)})
    assert found["new"] > 2 > 1 > found["same"] == found["nothing"]


def test_the_mean_yield_of_a_check_is_one() -> None:
    """Prior or not: no item is taken for better than all."""
    stats = checked(one=500, two=50, three=5)
    ended = {"one": violations(1, 1), "two": violations(1, 9, of="Q"), "three": {}}
    found = yields(stats, ended)
    assert found["two"] > found["one"]
    assert min(found.values()) < 1 < max(found.values())


def test_what_a_pass_alone_has_shown_is_not_new_in_a_sequence() -> None:
    """Both count: what both have shown is new in neither."""
    stats = checked(one=100, two=100)
    ended = {"one": violations(1, 1, 1), "two": {**violations(1, 1), **violations(1, of="Q")}}
    found = yields(stats, ended)
    assert found["one"] == found["two"]


def test_what_costs_more_yields_less() -> None:
    """A pass that changes a module makes work for the oracles, a pipeline runs many passes."""
    stats = {
        "idle": PassStats(checks=100),
        "busy": PassStats(checks=100, changed=100),
        "sequence": PassStats(checks=100),
        "default": PassStats(checks=100),
    }
    found = yields(stats, {item: violations(1, of=item) for item in stats})
    assert found["idle"] == pytest.approx((1 + CHANGED) * found["busy"])
    assert found["idle"] == pytest.approx(SEQUENCE * found["sequence"])
    assert found["idle"] == pytest.approx(PIPELINE * found["default"])
    assert sum(found.values()) / 4 > 1 > found["default"], "of a mean cost, not of a mean check"


def test_a_few_checks_mean_little() -> None:
    found = yields(checked(few=1, many=1000), {"many": violations(1, 1)})
    assert found["few"] == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("ended", [{}, {"one": violations(2, 30)}])
def test_where_nothing_is_new_the_shares_are_the_base_ones(
    ended: dict[str, dict[Mark, int]],
) -> None:
    base = {"one": 0.3, "two": 0.7}
    assert yields(checked(one=100, two=100), ended) == {}
    assert shares(base, {}) == base


@pytest.mark.parametrize("seed", range(20))
def test_shares_keep_their_sum_and_bounds(seed: int) -> None:
    draws = random.Random(seed)
    raw = {f"p{n}": draws.choice([1.0, 1.0, 0.3]) for n in range(draws.randint(1, 60))}
    base = {item: share / sum(raw.values()) for item, share in raw.items()}
    found = {item: draws.choice([0.01, 1.0, 3.0, 40.0]) for item in base if draws.random() < 0.9}
    given = shares(base, found)
    assert sum(given.values()) == pytest.approx(1)
    for item, share in given.items():
        assert LEAST * base[item] <= share * (1 + 1e-9)
        assert share <= MOST * base[item] * (1 + 1e-9)
    order = sorted(base, key=lambda item: found.get(item, 1.0))
    multiples = [given[item] / base[item] for item in order]
    assert multiples == sorted(multiples) or multiples == pytest.approx(sorted(multiples))


def test_an_item_whose_bugs_are_all_found_gives_its_checks_back() -> None:
    """A simulation: one item has many rare bugs, one a few common ones, others none."""
    bugs = {"rare": [0.0005] * 300, "common": [0.2] * 4, **{f"none{n}": [] for n in range(20)}}
    base = dict.fromkeys(bugs, 1 / len(bugs))
    draws = random.Random(1)
    found: dict[bool, int] = {}
    for scheduled in (False, True):
        stats = checked(**dict.fromkeys(bugs, 0))
        ended: dict[str, Counter[Mark]] = {item: Counter() for item in bugs}
        for _ in range(12):
            share = (
                shares(base, yields(stats, ended)) if scheduled and stats["rare"].checks else base
            )
            for item, chances in bugs.items():
                for _ in range(round(440 * share[item])):
                    stats[item] += PassStats(checks=1)
                    ended[item].update(
                        ("crash", item, (str(n),))
                        for n, chance in enumerate(chances)
                        if draws.random() < chance
                    )
        found[scheduled] = sum(map(len, ended.values()))
        if scheduled:
            assert share["rare"] > 2 * base["rare"]
            assert share["common"] < base["common"]
            assert share["none0"] >= LEAST * base["none0"]
    assert found[True] >= found[False]
