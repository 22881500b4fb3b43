"""The state of a search on disk: after a kill at any moment, the search goes on from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...corpus.reading import read_text
from ..findings.finding import Finding
from ..process.serialize import counted, parse, typed
from ..system.files import write_whole
from ..user_input.errors import UserError
from .parallel import State

FORMAT = 2

LONGEST = 1_000_000_000
"""Bytes: two modules with constants of 300 MB."""


class BadCheckpoint(UserError):
    """The file is no state of a search, or of a search for something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """All that is needed to go on."""

    request: Mapping[str, Any]
    """What was asked for, as JSON values: another request does not go on from here."""
    state: State
    finding: Finding | None = None
    """With the passes reached so far; None for a predicate of the user's."""
    seconds: float = 0.0
    """Used up so far."""
    flaky: bool = False
    """What is asked for does not come out of every run."""

    def write(self, path: Path) -> None:
        """Put it on the disk, whole or not at all."""
        data = {
            "format": FORMAT,
            "request": self.request,
            "state": asdict(self.state),
            "finding": None if self.finding is None else self.finding.to_json(),
            "seconds": self.seconds,
            "flaky": self.flaky,
        }
        write_whole(path, json.dumps(data))


def read(path: Path, request: Mapping[str, Any]) -> Checkpoint:
    """The state that a search for the same request has left.

    Raises:
        BadCheckpoint: it is of another request, which the text names, or no state at all.
    """
    try:
        data = parse(read_text(path, LONGEST))
        version, asked = data["format"], typed(data["request"], Mapping[str, Any])
    except OSError as error:
        raise BadCheckpoint(f"cannot read '{path}': {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise BadCheckpoint(f"'{path}' is not the state of a minimization") from None
    if version != FORMAT:
        raise BadCheckpoint(f"'{path}' has format {version!r:.40}, this relaxfuzz reads {FORMAT}")
    names = [name for name in {**asked, **request} if asked.get(name) != request.get(name)]
    if names:
        name = names[0]
        raise BadCheckpoint(
            f"'{path}' is of another request: {name} was {asked.get(name)!r} and is "
            f"{request.get(name)!r} now; go on with the same one, or begin again without --resume"
        )
    try:
        finding = data["finding"]
        return Checkpoint(
            request=asked,
            state=typed(counted(data["state"]), State),
            finding=None if finding is None else Finding.from_json(typed(finding, str)),
            seconds=typed(counted(data["seconds"]), float),
            flaky=typed(data["flaky"], bool),
        )
    except (ValueError, KeyError, UserError) as error:
        raise BadCheckpoint(f"'{path}' is damaged: {error}") from None
