"""The seeds that come with relaxfuzz: pieces of its models.

They are cut once for each build of TVM, and kept with its availability.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from ...compat import availability, build
from ...corpus.models import MODELS
from ...generators.seeds import Piece, distinct
from ..campaign.seeds import Seeds
from ..process.executor import Executor
from ..system.serialize import plain, typed
from .survey import Survey

MODEL_SHARE = 0.2
"""The share of the blocks that have pieces of models."""

NONE = Seeds((), 0.0)
"""The seeds for users who give none."""


def pieces_of(survey: Survey) -> tuple[Piece, ...]:
    """The pieces that a survey has cut, without duplicates."""
    return distinct(piece for name in MODELS for piece in survey.pieces.get(name, ()))


def seeds_of(
    pool: Executor,
    own: Seeds = NONE,
    progress: Callable[[str], None] = lambda text: None,
) -> tuple[Seeds, ...]:
    """The seeds of a campaign on the installed TVM: the user's modules first.

    Args:
        pool: the workers that cut the seeds of relaxfuzz, if necessary.
        own: the user's modules.

    Raises:
        ExecutorError: the workers cannot be kept alive.
    """
    made = _cached()
    if made is None and not availability.current().build:
        made = ()  # no time to cut them, as there was none to try what works
    elif made is None:
        survey = Survey(pool, progress)
        survey.seeds()
        made = pieces_of(survey)
        keep(made)
    shipped = Seeds(made, MODEL_SHARE)
    return (own, shipped) if own.pieces else (shipped,)


def keep(made: tuple[Piece, ...]) -> None:
    """Write the pieces to the cache folder, for the next start on this build."""
    with contextlib.suppress(OSError):  # without the file, they are cut again
        build.write(cache(), json.dumps(plain(made)))


def cache() -> Path:
    """The file for the installed build."""
    return build.folder() / f"{build.stamp()}-pieces.json"


def _cached() -> tuple[Piece, ...] | None:
    try:
        data = json.loads(cache().read_text(encoding="utf-8"))
        found: tuple[Piece, ...] = typed(data, tuple[Piece, ...])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found
