"""The parts of an explanation: plain data, which travels between processes and prints."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class TroubleKind(enum.StrEnum):
    """The sort of a trouble."""

    NOT_LOWERED = "not-lowered"  # an operator that code generation does not know is left
    RAISES = "raises"  # a step raises
    ILL_FORMED = "ill-formed"  # a step, or the user, made a module that is not well-formed
    DIES = "dies"  # a step ends the process
    UNEXPLAINED = "unexplained"  # the build fails, and we do not see why


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
    """One thing that is wrong: its place, the step that made it, the reason, and advice."""

    kind: TroubleKind
    title: str
    function: str | None = None
    """The name of the function with the trouble."""
    step: str | None = None
    """The step after which it is first seen; None: the user's module has it."""
    excerpt: Excerpt | None = None
    """The offending line, if the printer marks it."""
    notes: tuple[str, ...] = ()
    """The step and the reason, in sentences."""
    help: tuple[str, ...] = ()
    """Advice; following one item is enough."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The outcome of taking a module through a pipeline."""

    pipeline: str
    steps: tuple[str, ...]
    """The passes that ran to their end."""
    troubles: tuple[Trouble, ...]
    built: bool
    """True if the result was compiled and loaded into the virtual machine."""
    knowns: tuple[str, ...] = ()
    """The known bugs of TVM that break the build, each in a few lines."""
