"""The records are whole; each fault shows on its modules, and on others the pass is right."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import tvm

from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.contract import PARTIAL
from relaxfuzz.oracles.tiers import ORACLES

from .modelled import crossing, historic
from .specimen import Family, Specimen
from .table import SETS, SPECIMENS
from .witness import Witness, seen
from .witnesses import WITNESSES

OF_EACH: dict[str, list[Witness]] = defaultdict(list)
for each in WITNESSES:
    OF_EACH[each.name].append(each)

ELSEWHERE = {
    specimen.name for specimen in (*historic.SPECIMENS, *SETS["engineers"])
} - OF_EACH.keys()
"""The historic faults show in the tests of the reference passes and of the seed bugs; those of some
engineers' passes have been shown by campaigns only."""

HISTORIES = Path(__file__).with_name("test_histories.py").read_text()

SAME = {
    *("decomposes_gelu_tanh", "unnegates_conditions", "counts_in_place", "notes_wide_arithmetic"),
    *("unrolls_short_loops", "shares_output_shapes", "folds_into_its_operand"),
    *(
        "renews_loops",
        "rebuilds_every_node",
        "copies_shape_nodes",
    ),
    *("shares_equal_constants", "remembers_equal_functions"),
}
"""Their right results equal the module: their fault is all that they do, or they renew nodes."""


def is_faulty(specimen: Specimen) -> bool:
    return specimen.family is not Family.CORRECT


def test_the_sets() -> None:
    counts = {name: Counter(map(is_faulty, specimens)) for name, specimens in SETS.items()}
    assert {name: (count[True], count[False]) for name, count in counts.items()} == {
        "modelled": (89, 21),
        "first": (12, 1),
        "second": (15, 3),
        "third": (7, 0),
        "fourth": (15, 15),
        "engineers": (24, 0),
    }
    assert {specimen.family for specimen in SPECIMENS.values()} == set(Family)
    assert all(len(specimen.needs) >= 2 for specimen in crossing.SPECIMENS)


def test_the_records() -> None:
    for name, specimen in SPECIMENS.items():
        assert specimen.fault, name
        assert specimen.like is None or specimen.like in catalogue, name
        assert {*specimen.exempt} <= {*ORACLES, *PARTIAL}, name
        if specimen in SETS["modelled"] and is_faulty(specimen):
            assert re.match(r"apache/tvm#\d+: ", specimen.source), name
        assert isinstance(specimen.call.build(), tvm.transform.Pass), name


def test_they_are_shown() -> None:
    for name, specimen in SPECIMENS.items():
        if name not in ELSEWHERE and not re.search(rf"\b{name}\b", HISTORIES):
            shown = any(witness.problem is not None for witness in OF_EACH[name])
            assert shown is is_faulty(specimen), name


@pytest.mark.parametrize("name", OF_EACH)
def test_witnesses(name: str) -> None:
    """Each has its problem; where the pass is right, it is not idle everywhere."""
    found = [seen(witness) for witness in OF_EACH[name]]
    problems = [witness.problem for witness in OF_EACH[name]]
    assert [problem for problem, _ in found] == problems
    if None in problems and name not in SAME:
        assert any(changed for problem, changed in found if problem is None)
