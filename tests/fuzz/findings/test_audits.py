"""Which reports of known bugs are audited, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaxfuzz.corpus.knowns import Known, known
from relaxfuzz.fuzz.findings import audits
from relaxfuzz.fuzz.findings.audits import Audits
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.oracles.violation import Violation


def made(folder: Path, name: str) -> Known:
    path = folder / f"{name}.toml"
    path.write_text(
        f'what = "x"\nkey_format = 3\nkeys = [["crash", "{name}"]]\ntvm = "fails on 0.26.0"\n'
    )
    return known(path)


def report(text: str, place: str = "") -> Finding:
    violation = Violation(text, "", (text,), place, oracle="crash", pass_name="FuseOps")
    return Finding(violation=violation, module="", versions={"tvm": "0.26.0"})


def taken(waiting: Audits) -> list[str]:
    found: list[Finding] = []
    for _ in range(10):
        waiting.take(1, found.append)
    return [each.title for each in found]


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits take no time."""
    monkeypatch.setattr(audits, "SECONDS", 0.0)


@pytest.mark.usefixtures("free")
def test_first_of_each_bug_then_of_each_place_then_the_rest(tmp_path: Path) -> None:
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    waiting = Audits()
    waiting.add(report("first", "fuse_ops.cc:1"), [one])
    waiting.add(report("the same place", "fuse_ops.cc:1"), [one])
    waiting.add(report("another place", "fuse_ops.cc:2"), [one])
    waiting.add(report("another bug", "fuse_ops.cc:1"), [one, two])
    order = ["first", "another bug", "another place", "the same place"]
    assert taken(waiting) == order


@pytest.mark.usefixtures("free")
def test_those_without_a_place_are_of_one(tmp_path: Path) -> None:
    one = made(tmp_path, "one")
    waiting = Audits()
    for text in ("first", "second"):
        waiting.add(report(text), [one])
    waiting.add(report("at a place", "fuse_ops.cc:1"), [one])
    assert taken(waiting) == ["first", "at a place", "second"]


def test_audits_take_a_share_of_the_time(tmp_path: Path) -> None:
    one = made(tmp_path, "one")
    waiting = Audits()
    for text in ("first", "second"):
        waiting.add(report(text), [one])
    assert taken(waiting) == ["first"]  # for the second a minute has to pass


@pytest.mark.usefixtures("free")
def test_nothing_waits_after_the_campaign(tmp_path: Path) -> None:
    waiting = Audits()
    waiting.add(report("first"), [made(tmp_path, "one")])
    waiting.clear()
    assert taken(waiting) == []
