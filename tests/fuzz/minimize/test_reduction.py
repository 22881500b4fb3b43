"""Long runs come before short ones, and landmarks lie close together at both ends."""

from __future__ import annotations

from relaxfuzz.fuzz.minimize.reduction import landmarks, runs


def test_runs() -> None:
    assert list(runs([])) == []
    assert list(runs("abcde")) == [
        *("abcde", "cde", "ab", "de", "bc", "a"),
        *("e", "d", "c", "b", "a"),
    ]


def test_every_item_is_a_run_of_its_own() -> None:
    for count in range(40):
        found = [run[0] for run in runs(range(count)) if len(run) == 1]
        assert sorted(set(found)) == list(range(count))


def test_landmarks() -> None:
    assert landmarks(5) == [0, 1, 2, 3, 4]
    assert landmarks(40) == [0, 1, 3, 7, 15, 20, 24, 32, 36, 38, 39]
    assert len(landmarks(1000)) < 25
