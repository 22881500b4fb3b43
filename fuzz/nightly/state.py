"""The state of a night: what is needed to resume it after any interruption."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...corpus.reading import LONGEST_GENERATED, read_text
from ..process.serialize import counted, parse, plain, typed
from ..system.disk_failure import watched
from ..system.files import write_whole

FILE = "nightly.json"

FORMAT = 1


class Phase(enum.StrEnum):
    """The phases of a night, in this order."""

    REPLAY = "replay"
    FUZZ = "fuzz"
    BISECT = "bisect"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A night that has begun."""

    settings: str
    """A digest of the settings and of TVM's version: with others a new night begins."""
    seed: int
    after: int
    """The id of the last run before it; 0 where it is the first."""
    done: tuple[Phase, ...] = ()
    replayed: Mapping[str, str] = field(default_factory=dict)
    """By key of an old bug: its status."""
    back: tuple[str, ...] = ()
    """Names of old bugs that were fixed and fail again."""
    before: Mapping[str, str] = field(default_factory=dict)
    """As `replayed`, in the night before."""
    unbisected: tuple[str, ...] = ()
    """Ids of findings that are still to be bisected."""

    @property
    def over(self) -> bool:
        """All phases are done."""
        return len(self.done) == len(Phase)

    def save(self, folder: Path) -> None:
        """Write it; when this returns, it is on the disk."""
        text = json.dumps({"format": FORMAT, **plain(self)}, indent=1)
        with watched(folder):
            write_whole(folder / FILE, text)


def load_night(folder: Path) -> Night | None:
    """The night that was saved last; None where none can be read."""
    try:
        data = counted(parse(read_text(folder / FILE, LONGEST_GENERATED)))
        if data.pop("format") != FORMAT:
            return None
        night: Night = typed(data, Night)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return night


def digest(*values: object) -> str:
    """A digest of values with a complete `repr`."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
