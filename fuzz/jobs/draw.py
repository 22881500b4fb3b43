"""Examples of a strategy by number, independent of each other.

Together with `under_hypothesis` this is the only file that touches Hypothesis' internals. `@given`
mutates and repeats examples. A campaign needs a new draw for each (seed, index), the same in every
process, at no more than the cost of the draw.
"""

from __future__ import annotations

import hashlib
from random import Random
from typing import Any, TypeVar

from hypothesis.control import BuildContext
from hypothesis.errors import StopTest, UnsatisfiedAssumption
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import (
    COLLECTION_DEFAULT_MAX_SIZE,
    HypothesisProvider,
)
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

FORMAT = 4
"""Format of examples, raised whenever the same seed and index give a different example."""

ATTEMPTS = 100


class NoExample(Exception):
    """The strategy rejected every attempt."""


class _Provider(HypothesisProvider):
    """Draws no constants from loaded source files, since these differ between installations and
    change with the user's own files."""

    def _maybe_draw_constant(self, *args: Any, **options: Any) -> None:
        super()._maybe_draw_constant(*args, **{**options, "p": 0.0})

    def draw_bytes(self, min_size: int = 0, max_size: int = COLLECTION_DEFAULT_MAX_SIZE) -> bytes:
        """Draw all bytes at once if their number is fixed; singly they cost a fifth of a module."""
        if min_size < max_size:
            return super().draw_bytes(min_size, max_size)
        assert self._random is not None
        return self._random.randbytes(min_size)


def example(strategy: SearchStrategy[T], seed: int, index: int) -> T:
    """Draw example number `index` of the strategy under `seed`.

    Raises:
        NoExample: none of 100 attempts met the strategy's filters.
    """
    for attempt in range(ATTEMPTS):
        random = Random(entropy("example", FORMAT, seed, index, attempt))
        data = ConjectureData(random=random, provider=_Provider)
        try:
            with BuildContext(data, is_final=False, wrapped_test=example):
                return data.draw(strategy)
        except (StopTest, UnsatisfiedAssumption):
            continue
        except Exception as error:
            # Hypothesis adds the strategy, whose text is a thousand lines long.
            error.__notes__ = [f"while generating example {index} of seed {seed}"]
            raise
    raise NoExample(
        f"Expected an example within {ATTEMPTS} attempts, got none: {seed=}, {index=}, {strategy!r}"
    )


def entropy(*names: object) -> int:
    """A number that depends only on these names, unlike `hash`, which differs between processes."""
    return int.from_bytes(hashlib.sha256(repr(names).encode()).digest())
