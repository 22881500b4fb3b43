"""An undisturbed campaign, and what it found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .campaigns import Campaign
from .endings import ending, harm
from .faults import small_disk

MODULES = 10


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How a campaign of `MODULES` ends to which nothing happens."""
    with Campaign(tmp_path_factory.mktemp("undisturbed"), modules=MODULES) as campaign:
        campaign.nightly()
        assert campaign.wait() == 1, campaign.output()
        assert harm(campaign) == []
    state = ending(campaign.out)
    assert len(state["findings"]) > 3
    return state


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    with Campaign(tmp_path, modules=MODULES) as campaign:
        yield campaign


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    try:
        with small_disk(tmp_path / "disk", 64) as folder:
            yield folder
    except PermissionError as error:
        pytest.skip(str(error))
