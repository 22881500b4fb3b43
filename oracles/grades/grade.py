"""The grade of a bug."""

from __future__ import annotations

import enum


class Grade(enum.StrEnum):
    """How much a bug matters; in the order of the alphabet, the gravest first."""

    A = "A"
    B = "B"
    C = "C"

    @property
    def next(self) -> Grade:
        """The grade below; there is none below C."""
        return Grade.B if self is Grade.A else Grade.C

    def reaches(self, least: Grade) -> bool:
        """Whether it is this grade or a graver one."""
        return self <= least
