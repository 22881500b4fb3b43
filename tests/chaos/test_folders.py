"""Folders that somebody else works in, or that nobody can write to; disks that are full."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from .campaigns import Campaign
from .conftest import MODULES
from .endings import ending, harm
from .faults import full, read_only

pytestmark = pytest.mark.slow


def test_two_campaigns_do_not_share_a_folder(
    campaign: Campaign, undisturbed: dict[str, Any]
) -> None:
    campaign.run()
    campaign.until("relaxfuzz on TVM")
    assert campaign.driver is not None
    for asked in (["run", "DeadCodeElimination", "--modules", 1], ["nightly", "--modules", 1]):
        code = campaign.command(*asked, "--out", campaign.out).wait(120)
        assert code == 2
        who = f"error: relaxfuzz run (process {campaign.driver.pid}, since "
        assert who in campaign.output()
    reading = campaign.command("findings", campaign.out)
    assert reading.wait(120) == 0
    assert campaign.wait() == 1
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed


def test_a_check_may_work_beside_a_campaign(
    campaign: Campaign, undisturbed: dict[str, Any]
) -> None:
    campaign.nightly()
    campaign.until("relaxfuzz on TVM")
    seed = next((Path(__file__).parents[2] / "corpus" / "seeds").glob("lift*.py"))
    beside = campaign.command("check", seed, "--out", campaign.out)
    assert beside.wait(300) in (0, 1), campaign.output()
    assert campaign.wait() == 1
    assert harm(campaign) == []
    state = ending(campaign.out)
    assert set(undisturbed["findings"]) <= set(state["findings"])
    assert {k: state[k] for k in ("modules", "checks")} == {
        k: undisturbed[k] for k in ("modules", "checks")
    }


@pytest.mark.parametrize("where", ["store", "tmp"])
def test_a_full_disk(tmp_path: Path, disk: Path, undisturbed: dict[str, Any], where: str) -> None:
    inside = disk / where
    inside.mkdir()
    with Campaign(tmp_path / "campaign", modules=MODULES, **{where: inside}) as campaign:  # type: ignore[arg-type]
        for chance in map(random.Random, range(2)):
            if campaign.over:
                break
            if not campaign.alive:
                campaign.nightly()
            campaign.until("relaxfuzz on TVM" if not chance.randrange(2) else "idempotent")
            time.sleep(chance.uniform(0, 2))
            with full(disk):
                time.sleep(8)
                output = campaign.output()
                if campaign.alive:
                    continue  # nothing had to be written
                assert campaign.wait() == 3
                assert "error: cannot write '" in output
        if campaign.alive:
            campaign.wait()
        if not campaign.over:
            campaign.nightly()
            assert campaign.wait() == 1, campaign.output()
        assert harm(campaign) == []
        assert ending(campaign.out) == undisturbed


def test_a_disk_that_is_full_from_the_beginning(tmp_path: Path, disk: Path) -> None:
    with Campaign(tmp_path / "campaign", modules=8, store=disk / "store") as campaign:
        with full(disk):
            campaign.nightly()
            assert campaign.wait() in (2, 3)
        assert "error: cannot " in campaign.output()
        assert "Traceback" not in campaign.output()


def test_a_folder_that_is_only_read(campaign: Campaign, undisturbed: dict[str, Any]) -> None:
    campaign.nightly()
    assert campaign.wait() == 1
    before = sorted((path, path.stat().st_mtime_ns) for path in campaign.out.rglob("*"))
    try:
        with read_only(campaign.out):
            for words, code in (
                (["findings", campaign.out], 0),
                (["report", campaign.out, "--html", campaign.folder / "page.html"], 0),
                (["run", "DeadCodeElimination", "--modules", 1, "--out", campaign.out], 2),
                (["nightly", "--modules", 1, "--out", campaign.out], 2),
            ):
                assert campaign.command(*words).wait(300) == code, campaign.output()
    except PermissionError as error:
        pytest.skip(str(error))
    assert campaign.output().count("error: cannot write to '") == 2
    assert before == sorted((path, path.stat().st_mtime_ns) for path in campaign.out.rglob("*"))
    assert harm(campaign) == []


def test_a_folder_that_becomes_read_only(campaign: Campaign, undisturbed: dict[str, Any]) -> None:
    campaign.nightly()
    campaign.until("idempotent")
    # What is open for writing already would keep a bind mount from it: the lock has to be new.
    campaign.driver.terminate()  # type: ignore[union-attr]
    campaign.wait()
    try:
        with read_only(campaign.out):
            campaign.nightly()
            assert campaign.wait() == 2
    except PermissionError as error:
        pytest.skip(str(error))
    campaign.nightly()
    assert campaign.wait() == 1
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed
