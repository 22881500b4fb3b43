"""What the sanitizer finds."""

from __future__ import annotations

from dataclasses import dataclass

READ_OUTSIDE = "read outside"
WRITE_OUTSIDE = "write outside"
UNINITIALISED = "read of uninitialised memory"
UNWRITTEN = "output left unwritten"
RACE = "race"
ALIASED = "aliased parameters"
DIVISION = "division by zero"
SHIFT = "shift too wide"
OVERFLOW = "index overflow"
CONVERSION = "conversion out of range"

KINDS = (
    *(READ_OUTSIDE, WRITE_OUTSIDE, UNINITIALISED, UNWRITTEN, RACE),
    *(ALIASED, DIVISION, SHIFT, OVERFLOW, CONVERSION),
)
"""All kinds of faults."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a PrimFunc does and must not do.

    `buffer`, `index` and `shape` are empty where no buffer is at fault (a division, say).
    """

    kind: str
    buffer: str
    index: tuple[int, ...]
    shape: tuple[int, ...]
    statement: str
    """The store that the fault is in, printed; the expression, where no store is around it."""

    def __str__(self) -> str:
        where = f" at {self.buffer}{list(self.index)} of shape {self.shape}" if self.buffer else ""
        return f"{self.kind}{where}: {self.statement}"
