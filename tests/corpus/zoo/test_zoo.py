"""The zoo as a whole: its parts are complete, and so are its records."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import tvm

from relaxfuzz.corpus.zoo import ZOO, Family, Specimen
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.contract import PARTIAL
from relaxfuzz.oracles.tiers import ORACLES

FAULTY = [specimen for specimen in ZOO.values() if specimen.family is not Family.CORRECT]


def test_every_family_is_there() -> None:
    families = Counter(specimen.family for specimen in ZOO.values())
    assert set(families) == set(Family)
    assert all(count >= 8 for count in families.values()), families
    assert len(FAULTY) >= 40
    assert sum(len(specimen.needs) > 1 for specimen in FAULTY) >= 10
    assert sum(specimen.historic for specimen in FAULTY) == 6


@pytest.mark.parametrize("specimen", ZOO.values(), ids=lambda specimen: specimen.name)
def test_the_record_is_whole(specimen: Specimen) -> None:
    assert specimen.what
    assert specimen.like is None or specimen.like in catalogue
    assert {*specimen.exempt} <= {*ORACLES, *PARTIAL}
    if specimen.family is not Family.CORRECT:
        assert re.match(r"apache/tvm#\d+: ", specimen.models), specimen.models
    made = specimen.call.build()
    assert isinstance(made, tvm.transform.Pass)
