"""The parts of an explanation: plain data, which travels between processes and prints."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class TroubleKind(enum.StrEnum):
    """The kind of trouble."""

    NOT_LOWERED = "not-lowered"  # an operator that code generation does not know is left
    RAISES = "raises"  # a step raises
    ILL_FORMED = "ill-formed"  # a step made, or the user gave, an ill-formed module
    DIES = "dies"  # a step kills the process
    UNEXPLAINED = "unexplained"  # the build fails, and the cause is unknown


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A line of a printed module with something marked in it."""

    line: str
    number: int | None
    """The line number in the user's own file or, if unknown, in `mod.script()`; None: not known."""
    column: int
    """The column at which the mark begins, from 0."""
    width: int
    label: str
    place: str
    """The place of the line, for people: "model.py:12:19", "mod.script():12"."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One error: its place, the step that made it, the reason, and advice."""

    kind: TroubleKind
    title: str
    function: str | None = None
    """The name of the function with the trouble."""
    step: str | None = None
    """The step after which it first appears; None: the user's module has it."""
    excerpt: Excerpt | None = None
    """The offending line, if the printer marks it."""
    notes: tuple[str, ...] = ()
    """The step and the reason, in sentences."""
    help: tuple[str, ...] = ()
    """Advice; following one item is enough."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The outcome of running a module through a pipeline."""

    pipeline: str
    steps: tuple[str, ...]
    """The passes that ran to completion."""
    troubles: tuple[Trouble, ...]
    built: bool
    """True if the result was compiled and loaded into the virtual machine."""
    knowns: tuple[str, ...] = ()
    """The known bugs of TVM that break the build, each in a few lines."""
