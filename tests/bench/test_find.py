"""How soon campaigns meet the known bugs: what counts as found, and when."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Iterable

import pytest

from bench.checks import Costs
from bench.find import MEETINGS, campaign, yields
from bench.versus import HERE
from relaxfuzz.corpus.knowns import Lookup, fields_of, knowns
from relaxfuzz.oracles.identity import FailureKind, Identity

NOBODY = Lookup((), "0.27.0")
UNKNOWN = Identity(failure=FailureKind.RAISES, blamed=("Pass",), condition="(n > 0)")
STATS = {"checks": 10, "seconds": 4.0, "sampled": {"evaluated": 5}}


def lines(*met: tuple[float, list[str], str], knowns: str = "abcd") -> list[str]:
    """The events of a campaign: seconds, names and oracle of each report."""
    events: list[object] = [{"event": "start", "budget": 60, "knowns": list(knowns)}]
    for seconds, names, oracle in met:
        times = {"seconds": seconds, "cpu": seconds / 2}
        what = {"oracle": oracle, "identity": fields_of(UNKNOWN), "made_of": ["relax.add"]}
        place = {"item": "Pass", "stage": "raw"}
        events.append({"event": "met", **times, **what, "names": names, **place})
    stats, stages = {"Pass": STATS}, {"raw": [10, 4.0]}
    events.append({"event": "end", "seconds": 60.0, "cpu": 30.0, "stats": stats, "stages": stages})
    return list(map(json.dumps, events))


def test_a_bug_is_found_by_the_first_report_of_it() -> None:
    read = campaign(lines((2, ["a"], "crash"), (5, ["a", "b"], "crash"), (7, [], "crash")), NOBODY)
    assert {name: met.seconds for name, met in read.first().items()} == {"a": 2, "b": 5}


def test_a_report_is_named_by_the_records_of_this_checkout_too() -> None:
    record, mine = next(
        (known, each)
        for known in knowns()
        for each in known.identities
        if all(its.ingredients for its in known.identities) and not each.has_place
    )
    line = json.loads(lines((2, [], "crash"))[1])
    lookup = Lookup([record], record.tvm.fails_on[0])
    seen = {**line, "identity": fields_of(dataclasses.replace(mine, ingredients=None))}

    def names(made_of: Iterable[str]) -> set[str]:
        return {*campaign([json.dumps({**seen, "made_of": [*made_of]})], lookup).first()}

    assert mine.ingredients
    assert names({*mine.ingredients, "relax.add"}) == {record.name}
    assert names(()) == set(), "the module lacks what the bug needs"
    assert campaign([json.dumps(line)], lookup).first() == {}


def test_what_was_spent_stands_beside_what_it_found() -> None:
    read = campaign(
        lines((2, ["a"], "crash"), (5, ["a", "b"], "evaluated"), (6, ["b"], "evaluated")), NOBODY
    )
    costs = Costs()
    costs.spent["evaluated"], costs.calls["evaluated"] = 2.0, 4
    found = yields([read], costs)
    crash, evaluated = found["oracle"]["crash"], found["oracle"]["evaluated"]
    assert (crash.checks, crash.first, crash.alone) == (10, 1, 0)
    assert (evaluated.checks, evaluated.seconds, evaluated.first, evaluated.alone) == (5, 2.5, 1, 1)
    assert (found["item"]["Pass"].seconds, found["stage"]["raw"].first) == (4.0, 2)


@pytest.mark.session
def test_a_campaign_tells_what_it_meets() -> None:
    command = [str(HERE / "python"), str(MEETINGS), "10", "1"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    read = campaign(printed.splitlines(), NOBODY)
    assert read.first().keys() <= read.knowns
    assert read.first()
    assert read.lasted("cpu") > 0
    assert {each.stage for each in read.met} <= read.end["stages"].keys()
