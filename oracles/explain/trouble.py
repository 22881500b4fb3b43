"""What an explanation is made of: plain data, which travels between processes and prints."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.StrEnum):
    """What sort of trouble it is."""

    NOT_LOWERED = "not-lowered"  # an operator is left that code generation does not know
    WRONG_NAME = "wrong-name"  # a function is exported under another name than it is called by
    UNKNOWN_NAME = "unknown-name"  # a function is called that is not defined anywhere
    NOT_COMPILED = "not-compiled"  # a function for an external compiler that was not called
    RAISES = "raises"  # a step raises
    ILL_FORMED = "ill-formed"  # a step, or the user, made a module that is not well-formed
    DIES = "dies"  # a step ends the process
    UNEXPLAINED = "unexplained"  # the build fails, and we do not see why
    REMOVED = "removed"  # would have been in the way, but a later step removed it: no trouble


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A line of a printed module with something marked in it."""

    line: str
    number: int | None
    """Of the user's own file or, where that is unknown, of `mod.script()`; None: not known."""
    column: int
    """Where the mark begins, from 0."""
    width: int
    label: str
    place: str
    """Where the line stands, for people: "model.py:12:19", "mod.script():12"."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong, where, since when, why, and what to do."""

    kind: Kind
    title: str
    function: str | None = None
    """The name of the function that it is in."""
    step: str | None = None
    """After which step it is seen first; None: the module came like that."""
    excerpts: tuple[Excerpt, ...] = ()
    """The offending line first, then those that it comes from."""
    notes: tuple[str, ...] = ()
    """When and why."""
    help: tuple[str, ...] = ()
    """What to do; each is enough by itself."""

    @property
    def harmless(self) -> bool:
        """It is reported, but breaks nothing."""
        return self.kind is Kind.REMOVED


@dataclass(frozen=True, slots=True)
class Explanation:
    """What came of taking a module through a pipeline."""

    pipeline: str
    steps: tuple[str, ...]
    """The passes that ran to their end."""
    troubles: tuple[Trouble, ...]
    built: bool
    """The result was compiled and loaded into the virtual machine."""
