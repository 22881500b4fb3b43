"""Long runs come before short ones, and landmarks lie close together at both ends."""

from __future__ import annotations

from relaxfuzz.fuzz.minimize.reduction import runs


def test_runs() -> None:
    assert list(runs([])) == []
    assert list(runs("abcde")) == [
        *("abcde", "cde", "ab", "de", "bc", "a"),
        *("e", "d", "c", "b", "a"),
    ]
