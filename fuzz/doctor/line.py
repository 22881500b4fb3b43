"""What is said of one part of the environment."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Verdict(enum.StrEnum):
    """How fit a part is."""

    OK = "ok"
    WARNING = "warning"
    """relaxfuzz works, but slower, or with less, or under conditions that nobody has tested."""
    PROBLEM = "problem"
    """Some of it does not work, or what it says cannot be trusted."""


@dataclass(frozen=True, slots=True)
class Line:
    """One part of the environment."""

    part: str
    verdict: Verdict
    value: str
    """What was found."""
    advice: str = ""
    """What to do; never empty where something is to be done."""

    def __post_init__(self) -> None:
        if self.verdict is not Verdict.OK and not self.advice:
            raise ValueError(f"Expected advice with a {self.verdict} but got {self!r}")


@dataclass(frozen=True, slots=True)
class Step:
    """What a process is going to look at next: the one to blame if that is the end of it."""

    part: str
    advice: str
    """What to do then."""


def ok(part: str, value: str, advice: str = "") -> Line:
    """Nothing has to be done; something can be."""
    return Line(part, Verdict.OK, value, advice)


def warning(part: str, value: str, advice: str) -> Line:
    """It works, but."""
    return Line(part, Verdict.WARNING, value, advice)


def problem(part: str, value: str, advice: str) -> Line:
    """It does not work."""
    return Line(part, Verdict.PROBLEM, value, advice)
