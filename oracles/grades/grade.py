"""The grade of a bug."""

from __future__ import annotations

import enum


class Grade(enum.StrEnum):
    """The gravity of a bug, in alphabetical order, the gravest first."""

    A = "A"
    B = "B"
    C = "C"

    def reaches(self, least: Grade) -> bool:
        """True if this grade is at least as grave as `least`."""
        return self <= least
