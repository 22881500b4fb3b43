"""Builds in this process confirm what they find in the pool of the tests."""

from __future__ import annotations

import pytest

from relaxfuzz.fuzz.checker import occurrence
from relaxfuzz.fuzz.process.local_pool import LocalPool
from tests.fuzz.sharing import share_pool


@pytest.fixture(autouse=True)
def _one_pool(pool: LocalPool, monkeypatch: pytest.MonkeyPatch) -> None:
    share_pool(monkeypatch, pool, occurrence)
