"""Decisions decoded from the bytes that Hypothesis draws.

One `st.binary` draw pays for all the small decisions of a binding. That keeps generation
cheap (a Hypothesis draw costs about 20 µs, a decision here 0.1 µs), and Hypothesis shrinks
a byte towards 0, which is always the first, simplest alternative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


_TIMES = [bytes(byte * (2 * number + 1) % 256 for byte in range(256)) for number in range(8)]
"""Permutations of all bytes, each with 0 in its place."""


class Choices:
    """A stream of decisions; once the bytes are used up, every decision is the simplest one."""

    __slots__ = ("_data", "_next")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0

    def field(self, count: int) -> int:
        """One of `count` fields, mostly the first: the result in batch_norm and dropout."""
        return max(0, self.below(2 * count) - count)

    def below(self, n: int) -> int:
        """An integer in [0, n), 0 being the simplest; n is at most 65,536."""
        if not 1 <= n <= 65_536:
            raise ValueError(f"Expected 1 <= n <= 65536 but got {n=}")
        if n == 1:
            return 0
        return (self._byte() if n <= 256 else self._byte() * 256 + self._byte()) % n

    def flag(self, chance: float = 0.5) -> bool:
        """True in about the given share of cases; False is the simplest."""
        return self._byte() >= 256 * (1 - chance)

    def pick(self, alternatives: Sequence[T]) -> T:
        """One of the alternatives, the first being the simplest."""
        return alternatives[self.below(len(alternatives))]

    def picks(self, alternatives: Sequence[T], count: int) -> list[T]:
        """`count` independent picks in one decision."""
        number = self.below(len(alternatives) ** count)
        found = []
        for _ in range(count):
            number, at = divmod(number, len(alternatives))
            found.append(alternatives[at])
        return found

    def subset(self, items: Sequence[T], chance: float = 0.5) -> list[T]:
        """Each item with the given chance, in order; the empty list is the simplest."""
        return [item for item in items if self.flag(chance)]

    def part(self, size: int) -> Choices:
        """The decisions of the next `size` bytes: later ones do not depend on how many are used."""
        self._next += size
        return Choices(self._data[self._next - size : self._next])

    def again(self, number: int = 0) -> Choices:
        """The decisions from the start again; a number other than 0 gives different ones.

        A 0 stays a 0: if all decisions are the simplest, the others are, too.
        """
        if not number or not self._data:
            return Choices(self._data)
        at = 5 * number % len(self._data)
        return Choices((self._data[at:] + self._data[:at]).translate(_TIMES[number % 8]))

    def _byte(self) -> int:
        if self._next >= len(self._data):
            return 0
        self._next += 1
        return self._data[self._next - 1]

    def some(self, size: int) -> list[Choices]:
        """Up to two parts of `size` bytes each; either may be left out independently."""
        parts = [(self.part(size), self.flag(0.6)) for _ in range(2)]
        return [part for part, wanted in parts if wanted]
