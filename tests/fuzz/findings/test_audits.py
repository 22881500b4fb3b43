"""Which reports of known bugs are audited, and in which order."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from relaxfuzz.corpus.knowns import Known, known
from relaxfuzz.fuzz.findings import audits
from relaxfuzz.fuzz.findings.audits import Audits
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.minimize.parallel import State
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


def given(waiting: Audits) -> list[tuple[Finding, State | None]]:
    found: list[tuple[Finding, State | None]] = []
    for _ in range(10):
        waiting.take(1, lambda finding, state: found.append((finding, state)))
    return found


def taken(waiting: Audits) -> list[str]:
    return [finding.title for finding, _ in given(waiting)]


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


def test_audits_take_a_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    waiting = Audits()
    began = time.monotonic()
    for text in ("first", "second"):
        waiting.add(report(text), [one])
    waiting.add(report("another bug"), [two])
    assert taken(waiting) == ["first"]
    for number, title in enumerate(("another bug", "second"), 1):
        later = began + 1.1 * number * audits.SECONDS / audits.SHARE
        monkeypatch.setattr(audits.time, "monotonic", lambda later=later: later)
        assert taken(waiting) == [title]


def test_after_the_campaign_first_ones_may_take_as_much_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Audits()
    began = time.monotonic()
    for name in ("one", "two", "three"):
        waiting.add(report(name), [made(tmp_path, name)])
    assert taken(waiting) == ["one"]
    monkeypatch.setattr(audits.time, "monotonic", lambda: began + 10)
    assert waiting.only_firsts() == pytest.approx(0.5, abs=0.1)
    assert taken(waiting) == ["two", "three"]


@pytest.mark.usefixtures("free")
def test_the_first_of_each_bug_waits_however_many_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits, "MOST_WAITING", 1)
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    waiting = Audits()
    for text in ("first", "second", "third"):
        waiting.add(report(text), [one])
    waiting.add(report("another bug"), [two])
    assert taken(waiting) == ["first", "another bug"]


@pytest.mark.usefixtures("free")
def test_after_the_campaign_the_first_of_each_bug_is_left(tmp_path: Path) -> None:
    waiting = Audits()
    for text in ("first", "second"):
        waiting.add(report(text), [made(tmp_path, "one")])
    waiting.only_firsts()
    assert (waiting.sure, waiting.unaudited) == (1, ("one",))
    ((first, _),) = given(waiting)
    assert (waiting.sure, waiting.running) == (1, 1)
    waiting.done(first)
    assert (waiting.sure, waiting.running, waiting.unaudited) == (0, 0, ())


@pytest.mark.usefixtures("free")
def test_the_reduction_of_a_first_one_goes_on_behind_the_others(tmp_path: Path) -> None:
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    waiting = Audits()
    waiting.add(report("first"), [one])
    ((first, _),) = given(waiting)
    waiting.add(report("another bug"), [two])
    waiting.put_back(first, report("smaller"), State(module="smaller"))
    (_, (smaller, state)) = given(waiting)
    assert (smaller.title, state) == ("smaller", State(module="smaller"))
    waiting.done(smaller)
    assert waiting.unaudited == ("two",)


@pytest.mark.usefixtures("free")
def test_the_reduction_of_a_first_one_ends(tmp_path: Path) -> None:
    waiting = Audits()
    waiting.add(report("first"), [made(tmp_path, "one")])
    turns = 0
    while found := given(waiting):
        ((finding, _),) = found
        waiting.put_back(finding, finding, State(module=""))
        turns += 1
    assert turns == audits.MOST_TURNS + 1
    assert waiting.unaudited == ("one",)


@pytest.mark.usefixtures("free")
def test_the_next_stands_in_for_a_first_one_that_does_not_recur(tmp_path: Path) -> None:
    one = made(tmp_path, "one")
    waiting = Audits()
    for number in range(audits.MOST_TRIES + 1):
        waiting.add(report(str(number)), [one])
        assert waiting.sure == (number < audits.MOST_TRIES)
        for finding, _ in given(waiting):
            waiting.failed(finding)
    assert waiting.unaudited == ("one",)


@pytest.mark.usefixtures("free")
def test_nothing_waits_when_the_time_is_over(tmp_path: Path) -> None:
    waiting = Audits()
    waiting.add(report("first"), [made(tmp_path, "one")])
    waiting.clear()
    assert taken(waiting) == []
    assert waiting.unaudited == ("one",)
