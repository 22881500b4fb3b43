"""Texts from outside show what they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaxfuzz.fuzz.output.readable import LONGEST_TEXT, readable, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain <text>\n\tas it is: é 漢 🙂", "plain <text>\n\tas it is: é 漢 🙂"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\r\nb\x00\x7f", "a\\r\nb\\x00\\x7f"),
        ("a\u202eb\u2066c\u200b", "a\\u202eb\\u2066c\\u200b"),
        ("\x9b \ud800 \u2028", "\\x9b \\ud800 \\u2028"),
        ("\u0378 \ue000 \xa0", "\\u0378 \\ue000 \\xa0"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)))
def test_visible_text_stays_as_it_is(text: str) -> None:
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
