"""The table of costs names oracles and passes that exist, and needs no row for a new one."""

from __future__ import annotations

import dataclasses

from relaxfuzz.fuzz.campaign import costs, schedule
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.catalogue.uncovered import without_contract
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.tiers import ORACLES, USUAL

CHEAP = {f"cheap{i}": PassContract(name=f"cheap{i}") for i in range(4)}


def share(target: Target, contract: PassContract) -> float:
    """The share of a pass beside four cheap ones."""
    targets = [*map(Target, CHEAP), target]
    items = schedule.items(targets, {**CHEAP, target.label: contract}, False)
    return items[-1].share


def test_each_row_is_of_an_oracle_that_campaigns_sample() -> None:
    assert set(costs.ORACLES) <= set(USUAL)
    assert all(ORACLES[name].tier > 1 for name in costs.ORACLES)
    assert all(cost.ms > 0 for cost in costs.ORACLES.values())


def test_each_row_is_of_a_pass_that_takes_long_or_has_a_share_of_its_own() -> None:
    assert set(costs.PASSES) <= set(catalogue)
    usual = costs.PassCost().ms * schedule.EXPENSIVE
    assert all(cost.ms > usual for cost in costs.PASSES.values())


def test_an_oracle_without_a_row_is_sampled() -> None:
    unlisted = costs.of_oracle("an oracle of tomorrow")
    assert unlisted == costs.OracleCost()
    assert 0 < schedule.SPENT[4] * unlisted.worth / unlisted.ms < 1


def test_a_pass_without_a_row_gets_an_ordinary_share() -> None:
    assert share(Target("new"), PassContract(name="new")) == 0.2


def test_a_pass_without_a_contract_gets_the_least_share() -> None:
    assert share(Target("VMBuiltinLower"), without_contract("VMBuiltinLower")) == schedule.LEAST


def test_a_users_pass_costs_what_the_pass_costs_that_it_is_like() -> None:
    dear = next(name for name, cost in costs.PASSES.items() if cost.share is None)
    own = PassCall("own()", factory="own:own", like=dear)
    contract = dataclasses.replace(catalogue[dear], name="own")
    assert share(Target("own", own), contract) == schedule.LEAST
    plain = dataclasses.replace(own, like=None)
    assert share(Target("own", plain), contract) == 0.2
