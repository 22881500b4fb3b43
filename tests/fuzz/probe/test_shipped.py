"""The seeds that come with relaxfuzz: cut once for each build, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaxfuzz.corpus.models import MODELS
from relaxfuzz.fuzz.probe import shipped, survey
from relaxfuzz.fuzz.probe.shipped import MODEL_SHARE, seeds_of
from relaxfuzz.fuzz.probe.survey import Survey
from relaxfuzz.fuzz.process.local_pool import LocalPool


def test_cut_once(intact: LocalPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for module in (survey, shipped):
        monkeypatch.setattr(module, "MODELS", {name: MODELS[name] for name in ("sampling", "gru")})
    (models,) = made = seeds_of(intact)
    shipped.cache().write_text('[{"name": 3}]')
    assert seeds_of(intact) == made  # a broken file is made again
    monkeypatch.setattr(Survey, "seeds", lambda self: pytest.fail("cut again"))
    assert seeds_of(intact) == made
    assert models.share == MODEL_SHARE
    assert {piece.name.partition(",")[0] for piece in models.pieces} == {"sampling", "gru"}
    assert len({piece.digest for piece in models.pieces}) == len(models.pieces)
