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
        ("fails on 0.26.0; new in 0.26.0", "0.25.0", False),
        ("fails on 0.26.0; new in 0.26.0", "0.27.0", True),
        ("fails on 0.26.0; new in 0.26.0; fixed in 0.27.0", "0.28.0", False),
    ],
)
def test_what_is_expected(text: str, version: str, fails: bool) -> None:
    assert claim(text).expects_failure(version) is fails
    assert str(claim(text)) == text


@pytest.mark.parametrize(
    ("text", "version", "left"),
    [
        ("fails on 0.26.0, 0.27.0", "0.28.0", "fails on 0.26.0, 0.27.0; fixed in 0.28.0"),
        ("fails on 0.26.0, 0.28.0", "0.28.0", "fails on 0.26.0; fixed in 0.28.0"),
        ("fails on 0.27.0, 0.28.0", "0.26.0", "fails on 0.27.0, 0.28.0; new in 0.27.0"),
        (
            "fails on 0.27.0; fixed in 0.28.0",
            "0.26.0",
            "fails on 0.27.0; new in 0.27.0; fixed in 0.28.0",
        ),
        ("fails on 0.26.0", "0.26.0", None),
    ],
)
def test_a_version_on_which_it_passes(text: str, version: str, left: str | None) -> None:
    assert claim(text).passing(version) == (left and claim(left))
