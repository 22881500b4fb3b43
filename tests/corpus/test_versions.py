"""The version claim of a file, and what it means for a version that it does not name."""

from __future__ import annotations

import itertools

import pytest

from relaxfuzz.corpus.versions import claim, order


def test_order() -> None:
    versions = [
        "0.9.0",
        "0.27.dev3",
        "0.27.dev12",
        "0.27.0rc1.dev2",
        "0.27.0rc1",
        "0.27",
        "0.27.0.post1.dev5",
        "0.27.0.post1",
        "0.27.1",
    ]
    for smaller, larger in itertools.pairwise(versions):
        assert order(smaller) < order(larger), (smaller, larger)
    assert order("0.27") == order("0.27.0") == order("0.27.0+cuda.d2026")


@pytest.mark.parametrize("version", ["", "main", "0.27.", "0.27.0-1", "0.27.0.post1.x"])
def test_no_version(version: str) -> None:
    with pytest.raises(ValueError, match=f"but got {version!r}"):
        order(version)


@pytest.mark.parametrize(
    ("text", "version", "fails"),
    [
        ("fails on 0.26.0", "0.26.0", True),
        ("fails on 0.26.0", "0.25.0", True),
        ("fails on 0.26.0", "0.28.dev1", True),
        ("fails on 0.17.dev0; fixed in 0.25.0", "0.17.dev0", True),
        ("fails on 0.17.dev0; fixed in 0.25.0", "0.24.0", True),
        ("fails on 0.17.dev0; fixed in 0.25.0", "0.25.0", False),
        ("fails on 0.17.dev0; fixed in 0.25.0", "0.27.0.post1", False),
        ("fails on 0.17.dev0, 0.27.0; fixed in 0.25.0", "0.27.0", True),
    ],
)
def test_what_is_expected(text: str, version: str, fails: bool) -> None:
    assert claim(text).expects_failure(version) is fails
