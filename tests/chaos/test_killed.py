"""Parts of a campaign are killed or stopped: it ends as one to which nothing happened."""

from __future__ import annotations

import os
import pty
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.protocol import Death

from .campaigns import Campaign, kill
from .endings import ending, harm
from .faults import Fault, all_killed, asked_to_end, killed, stopped

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("child", killed("child")),
        ("zygote", killed("zygote")),
        ("runner", killed("runner")),
        ("reproducer", killed("reproducer")),
        ("child", stopped("child")),
        ("zygote", stopped("zygote")),
        ("runner", stopped("runner")),
        ("driver", stopped("driver")),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__qualname__.partition(".")[0],
)
def test_the_driver_survives(
    campaign: Campaign, undisturbed: dict[str, Any], kind: str, fault: Fault
) -> None:
    campaign.nightly()
    campaign.until("relaxfuzz on TVM")
    hits = 0
    for chance in map(random.Random, range(3)):
        campaign.part(kind)
        hits += fault(campaign, chance) is not None
        time.sleep(chance.uniform(0.5, 2))
    assert hits
    assert campaign.wait() == 1, campaign.output()
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (killed("driver"), -signal.SIGKILL),
        (all_killed, -signal.SIGKILL),
        (asked_to_end(signal.SIGTERM), 1),
        (asked_to_end(signal.SIGHUP), 1),
    ],
    ids=["driver", "all", "SIGTERM", "SIGHUP"],
)
def test_the_driver_is_restarted(
    campaign: Campaign, undisturbed: dict[str, Any], fault: Fault, code: int
) -> None:
    for phrase in ("relaxfuzz on TVM", "idempotent", "to confirm"):  # the last is after fuzzing
        if campaign.over:
            break
        before = campaign.output().count(phrase)
        campaign.nightly()
        while campaign.alive and campaign.output().count(phrase) == before:
            time.sleep(0.02)
        time.sleep(random.Random(phrase).uniform(0, 1))
        if campaign.alive:
            assert fault(campaign, random.Random(phrase)) is not None
            assert campaign.wait() in (code, 0, 1), campaign.output()
            if code != 1:
                assert campaign.codes[-1] == code
    if code == 1:
        assert "the same command resumes it" in campaign.output()
    if not campaign.over:
        campaign.nightly()
        assert campaign.wait() == 1, campaign.output()
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed


def test_the_terminal_is_closed(campaign: Campaign, undisturbed: dict[str, Any]) -> None:
    """Its output is discarded from then on; it still ends, and can be resumed."""
    ours, theirs = pty.openpty()
    campaign.nightly(terminal=theirs)
    os.close(theirs)
    output = b""
    while b"relaxfuzz on TVM" not in output:
        output += os.read(ours, 4096)
    time.sleep(2)
    os.close(ours)
    assert campaign.wait() in (0, 1)
    campaign.nightly()
    assert campaign.wait() == 1
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed


def test_a_driver_that_is_stopped_for_long_blames_no_pass(tmp_path: Path) -> None:
    """The output of its zygote waits meanwhile, and so do the children."""
    with Campaign(tmp_path, modules=16) as campaign:
        campaign.nightly()
        campaign.until("relaxfuzz on TVM")
        time.sleep(3)
        driver = campaign.part("driver")
        kill(driver, signal.SIGSTOP)
        time.sleep(40)
        kill(driver, signal.SIGCONT)
        assert campaign.wait() == 1
        assert harm(campaign) == []
        with Store(campaign.out, create=False) as store:
            assert Death.HANG.value not in {finding.oracle for finding in store.findings()}
