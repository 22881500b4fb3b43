"""What works on a build: kept for the next start, given to other processes, in one line."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from relaxfuzz.compat import availability, build
from relaxfuzz.compat.availability import Availability
from relaxfuzz.compat.release import TVMUnsupported

SOME = Availability(ops={"abs": "this TVM has no abs"}, stages={"fused": "FuseOps: gone"})


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process that knows nothing yet, and an empty cache."""
    monkeypatch.setattr(availability, "_current", None)
    monkeypatch.delenv(availability.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_it_travels_as_text() -> None:
    assert Availability.from_json(SOME.to_json()) == SOME


@pytest.mark.parametrize("text", ["", "null", "[]", '{"opps": {}}'])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        Availability.from_json(text)


def test_one_line_names_what_is_off() -> None:
    assert Availability().sentence() == ""
    one = Availability(passes={"FuseOps": "gone"})
    assert one.sentence() == ("1 pass (FuseOps) is not available on this TVM: relaxfuzz doctor")
    assert SOME.sentence() == (
        "1 op (abs), 1 stage (fused) are not available on this TVM: relaxfuzz doctor"
    )
    many = Availability(ops={f"op{number}": "gone" for number in range(20)})
    assert many.sentence().startswith("20 ops (op0, op1, ")
    assert "op19" not in many.sentence()


def test_what_was_found_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    availability.keep(SOME)
    monkeypatch.setattr(availability, "find_out", lambda: pytest.fail("found out again"))
    assert availability.current() == SOME


@pytest.mark.parametrize("content", ["", "{", json.dumps({"unknown": 1})])
def test_a_broken_file_is_written_anew(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    availability.keep(SOME)
    availability.cache().write_text(content)
    monkeypatch.setattr(availability, "find_out", Availability)
    assert availability.current() == Availability()


def test_another_build_is_tried_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    availability.keep(SOME)
    monkeypatch.setattr(availability.build, "stamp", lambda: "another")
    monkeypatch.setattr(availability, "find_out", Availability)
    assert availability.current() == Availability()


def test_the_process_that_started_this_one_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    availability.keep(Availability())
    monkeypatch.setenv(availability.VARIABLE, SOME.to_json())
    assert availability.current() == SOME


def test_a_build_that_is_not_tried_is_assumed_to_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "find_out", lambda: pytest.fail("found out"))
    availability.assume()
    assert availability.current() == Availability()
    monkeypatch.setattr(availability, "_current", None)
    availability.keep(SOME)
    availability.assume()
    assert availability.current() == SOME


@pytest.mark.parametrize("text", ["/cache/builds/0123.json", '{"ops": ', "[]", '{"ops": 3}'])
def test_another_text_from_outside_is_refused_in_a_sentence(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "_current", None)
    monkeypatch.setenv(availability.VARIABLE, text)
    with pytest.raises(TVMUnsupported, match=f"^expected {availability.VARIABLE} to be the JSON"):
        availability.current()


def test_old_builds_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(build.KEPT + 5):
        monkeypatch.setattr(availability.build, "stamp", lambda number=number: f"build{number}")
        availability.keep(SOME)
    kept = [path.name for path in availability.cache().parent.iterdir()]
    assert len(kept) == build.KEPT
    assert f"build{build.KEPT + 4}.json" in kept


def test_what_another_process_finds_out_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(availability, "find_out", lambda: pytest.fail("found out twice"))
    found: list[Availability] = []
    waiter = threading.Thread(target=lambda: found.append(availability.current()))
    with build.alone("waits"):
        waiter.start()
        waiter.join(0.2)
        assert waiter.is_alive()
        availability.keep(SOME)
    waiter.join(10)
    assert found == [SOME]
    assert capsys.readouterr().err == (
        "another process tries what works on this TVM: waiting for it\n"
    )
