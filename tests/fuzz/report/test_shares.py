"""The tables by pass and by rule of silence."""

from __future__ import annotations

from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.report.data import Report
from relaxfuzz.fuzz.report.shares import shares
from relaxfuzz.fuzz.report.silences import silences


def test_shares(report: Report) -> None:
    mine, fuse, pipeline = shares(report)
    assert (mine.name, fuse.name, pipeline.name) == ("MyPass()", "FuseOps", "default")
    assert (fuse.checks, fuse.applied, fuse.changed, fuse.known) == (800, 0.8, 0.25, 0.05)
    assert (fuse.rate, fuse.bugs) == (200.0, 2)
    assert mine.changed == 0
    assert pipeline.changed is None


def test_rules_of_silence_come_with_their_passes(report: Report) -> None:
    stats = {
        "FuseOps": PassStats(checks=9, silenced={"overflow": 2, "undefined": 5}),
        "FuseTIR": PassStats(checks=9, silenced={"overflow": 4}),
    }
    first, second = silences(stats)
    assert (first.rule.name, first.checks) == ("overflow", 6)
    assert first.passes == (("FuseTIR", 4), ("FuseOps", 2))
    assert (second.rule.name, second.others) == ("undefined", 0)
