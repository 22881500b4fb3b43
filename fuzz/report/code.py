"""Code for a page: highlighted, with few elements, so that many findings make a small page."""

from __future__ import annotations

from itertools import groupby

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers.diff import DiffLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, String, Token, _TokenType

from .visible import readable

CLASSES: dict[_TokenType, str] = {
    Comment: "c",
    Keyword: "k",
    Name.Decorator: "d",
    Name.Function: "f",
    Number: "n",
    String: "s",
    Generic.Deleted: "del",
    Generic.Inserted: "ins",
    Generic.Heading: "h",
    Generic.Subheading: "h",
}
"""Kinds of tokens that look different, and their classes; all others are plain text."""


def python(text: str) -> Markup:
    """Python, TVMScript among it."""
    return _highlighted(text, PythonLexer(stripnl=False, ensurenl=False))


def diff(text: str) -> Markup:
    """A unified diff."""
    # The lexer does not know a line that does not end.
    return _highlighted(text and f"{text}\n", DiffLexer(stripnl=False))


def _highlighted(text: str, lexer: Lexer) -> Markup:
    tokens = ((_class(kind), part) for kind, part in lexer.get_tokens(readable(text)))
    parts = []
    for name, group in groupby(tokens, key=lambda token: token[0]):
        shown = escape("".join(part for _, part in group))
        parts.append(Markup('<span class="{}">{}</span>').format(name, shown) if name else shown)
    return Markup("").join(parts)


def _class(kind: _TokenType) -> str:
    while kind is not Token and kind not in CLASSES:
        assert kind.parent is not None, kind
        kind = kind.parent
    return CLASSES.get(kind, "")
