"""A record of the pieces that are put into generated modules, for reports on a module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_names: ContextVar[list[str] | None] = ContextVar("names of pieces", default=None)


@contextmanager
def recorded() -> Iterator[list[str]]:
    """The names of the pieces that are put into modules in the context, each with its edits."""
    names: list[str] = []
    token = _names.set(names)
    try:
        yield names
    finally:
        _names.reset(token)


def record(name: str, edits: Sequence[str]) -> None:
    """Record that a piece is now part of the module, with these edits."""
    names = _names.get()
    if names is not None:
        names.append(f"{name}: {', '.join(edits)}" if edits else name)
