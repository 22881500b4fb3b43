"""The state of a night, and a file that cannot be read."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from relaxfuzz.fuzz.nightly.state import FILE, Night, Phase, digest, load_night

NIGHT = Night(settings="0f", seed=3, after=2)


def test_all_of_it_comes_back(tmp_path: Path) -> None:
    assert load_night(tmp_path) is None
    night = dataclasses.replace(
        NIGHT,
        done=(Phase.REPLAY, Phase.FUZZ),
        replayed={"a": "fixed"},
        before={"b": "gone"},
        back=("c",),
    )
    night.save(tmp_path)
    assert load_night(tmp_path) == night


def test_a_night_is_over_when_all_phases_are_done() -> None:
    assert not NIGHT.over
    assert not dataclasses.replace(NIGHT, done=tuple(Phase)[:-1]).over
    assert dataclasses.replace(NIGHT, done=tuple(Phase)).over


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 2}', '{"format": 2, "moon": 1}'])
def test_what_cannot_be_read_is_no_night(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert load_night(tmp_path) is None


def test_another_format_is_no_night(tmp_path: Path) -> None:
    NIGHT.save(tmp_path)
    path = tmp_path / FILE
    path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
    assert load_night(tmp_path) is None


def test_another_question_has_another_digest() -> None:
    assert digest(1, {"a": "b"}) == digest(1, {"a": "b"}) != digest(1, {"a": "c"})
