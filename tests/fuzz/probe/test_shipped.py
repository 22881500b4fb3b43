"""The seeds that come with relaxfuzz: cut once for each build, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaxfuzz.compat.availability import Availability
from relaxfuzz.corpus.knowns import knowns
from relaxfuzz.corpus.models import MODELS
from relaxfuzz.fuzz.probe import shipped, survey
from relaxfuzz.fuzz.probe.shipped import MODEL_SHARE, REPRODUCER_SHARE, Shipped, seeds_of
from relaxfuzz.fuzz.probe.survey import Survey
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.generators.families import DEFAULT, FAMILIES
from relaxfuzz.oracles.catalogue import of_family

REPRODUCER = "combine-parallel-matmul-split-axis"
NO_MODULE = "quantize-of-unknown-shape"


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and little to cut."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for module in (survey, shipped):
        monkeypatch.setattr(module, "MODELS", {name: MODELS[name] for name in ("lstm", "gru")})
        monkeypatch.setattr(module, "REPRODUCERS", (REPRODUCER, NO_MODULE))


def test_cut_once(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalPool(1, available=Availability()) as pool:
        models, reproducers = seeds_of(pool)
        monkeypatch.setattr(Survey, "seeds", lambda self: pytest.fail("cut again"))
        assert seeds_of(pool) == (models, reproducers)
    assert (models.share, reproducers.share) == (MODEL_SHARE, REPRODUCER_SHARE)
    assert {piece.name.partition(",")[0] for piece in models.pieces} == {"lstm", "gru"}
    assert {piece.name.partition(",")[0] for piece in reproducers.pieces} == {REPRODUCER}
    assert len({piece.digest for piece in models.pieces}) == len(models.pieces)


def test_a_broken_cache_is_made_again(few: None) -> None:
    with LocalPool(1, available=Availability()) as pool:
        made = seeds_of(pool)
        shipped.cache().write_text('{"models": [{"name": 3}]}')
        assert seeds_of(pool) == made


@pytest.mark.session
def test_most_reproducers_of_relax_give_pieces() -> None:
    with LocalPool(2, available=Availability()) as pool:
        made = Survey(pool)
        made.seeds()
    assert made.found.models == {}
    cut = Shipped.of(made)
    below = {name for family in FAMILIES if family != DEFAULT for name in of_family(family)}
    of_relax = [record for record in knowns() if not record.passes <= below]
    assert len(cut.reproducers) > 0.9 * len(of_relax)
