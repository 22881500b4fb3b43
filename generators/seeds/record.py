"""Which pieces are put into the modules that are generated, for what is reported about one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_names: ContextVar[list[str] | None] = ContextVar("names of pieces", default=None)


@contextmanager
def recorded() -> Iterator[list[str]]:
    """The names of the pieces that are put into modules meanwhile, each with its edits."""
    names: list[str] = []
    token = _names.set(names)
    try:
        yield names
    finally:
        _names.reset(token)


def record(name: str, edits: Sequence[str]) -> None:
    """A piece is part of the module now, with these edits."""
    names = _names.get()
    if names is not None:
        names.append(f"{name}: {', '.join(edits)}" if edits else name)
