"""The seeds that come with relaxfuzz: models, and the modules in reproducers of known bugs.

They are cut once for each build of TVM, and kept beside what works on it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ...compat import build
from ...corpus.models import MODELS
from ...generators.seeds import Piece, distinct
from ..campaign.seeds import Seeds
from ..process.executor import Executor
from ..process.serialize import plain, typed
from .survey import REPRODUCERS, Survey

MODEL_SHARE = 0.15
"""The share of the blocks that have pieces of models."""

REPRODUCER_SHARE = 0.05
"""The same for pieces of reproducers: near a bug there is often another one."""


NONE = Seeds((), 0.0)
"""Of a user who gives none."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """The pieces of all that work on the installed TVM, equal ones once."""

    models: tuple[Piece, ...]
    reproducers: tuple[Piece, ...]

    @classmethod
    def of(cls, survey: Survey) -> Shipped:
        """What a survey has cut."""

        def of(names: Iterable[str]) -> tuple[Piece, ...]:
            return distinct(piece for name in names for piece in survey.pieces.get(name, ()))

        return cls(of(MODELS), of(REPRODUCERS))


def seeds_of(
    pool: Executor,
    own: Seeds = NONE,
    progress: Callable[[str], None] = lambda text: None,
) -> tuple[Seeds, ...]:
    """What a campaign on the installed TVM is partly made of: the user's modules first.

    Args:
        pool: the workers that cut what comes with relaxfuzz, where that was not done before.
        own: the user's modules.

    Raises:
        ExecutorError: the workers cannot be kept alive.
    """
    made = _cached()
    if made is None:
        survey = Survey(pool, progress)
        survey.seeds()
        made = Shipped.of(survey)
        keep(made)
    shipped = Seeds(made.models, MODEL_SHARE), Seeds(made.reproducers, REPRODUCER_SHARE)
    return (own, *shipped) if own.pieces else shipped


def keep(made: Shipped) -> None:
    """Write them to the cache folder, for the next start on this build."""
    with contextlib.suppress(OSError):  # without the file, they are cut again
        build.write(cache(), json.dumps(plain(made)))


def cache() -> Path:
    """The file for the installed build."""
    return build.folder() / f"{build.stamp()}-pieces.json"


def _cached() -> Shipped | None:
    try:
        data = json.loads(cache().read_text(encoding="utf-8"))
        found: Shipped = typed(data, Shipped)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found
