"""Texts from outside show what they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaxfuzz.fuzz.report.visible import LONGEST_TEXT, readable, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain <text>\n\tas it is: é 漢 🙂", "plain <text>\n\tas it is: é 漢 🙂"),
        ("\x1b[2J", "␛[2J"),
        ("a\r\nb\x00\x7f", "a␍\nb␀␡"),
        ("a\u202eb\u2066c\u200b", "a‹U+202E›b‹U+2066›c‹U+200B›"),
        ("\x9b \ud800 \u2028", "‹U+009B› ‹U+D800› ‹U+2028›"),
    ],
)
def test_what_hides_gets_a_name(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)))
def test_what_is_visible_stays_so(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    visible(text).encode()


def test_long_texts_are_cut() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdef", 2) == "ab… (4 characters more)"
    name = "n" * 1_000_000
    assert len(readable(name)) < LONGEST_TEXT
    assert "characters more" in readable(name)
    lines = "line\n" * 100_000
    assert len(readable(lines)) < LONGEST_TEXT + 100
