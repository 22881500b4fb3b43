"""The state of a night, from which it can be resumed after any interruption."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...corpus.reading import LONGEST_GENERATED, read_text
from ..system.disk_failure import watched
from ..system.files import write_whole
from ..system.serialize import counted, parse, plain, typed

FILE = "nightly.json"

FORMAT = 2


class Phase(enum.StrEnum):
    """The phases of a night, in this order."""

    REPLAY = "replay"
    FUZZ = "fuzz"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A night that has begun."""

    settings: str
    """A digest of the settings and of TVM's version; if it differs, a new night begins."""
    seed: int
    after: int
    """The id of the last run before it; 0 for the first night."""
    done: tuple[Phase, ...] = ()
    replayed: Mapping[str, str] = field(default_factory=dict)
    """Status of each old bug, by its key."""
    back: tuple[str, ...] = ()
    """Names of old bugs that were fixed and fail again."""
    before: Mapping[str, str] = field(default_factory=dict)
    """The previous night's value of `replayed`."""

    @property
    def over(self) -> bool:
        """True if all phases are done."""
        return len(self.done) == len(Phase)

    def save(self, folder: Path) -> None:
        """Write it; on return, it is on the disk."""
        text = json.dumps({"format": FORMAT, **plain(self)}, indent=1)
        with watched(folder):
            write_whole(folder / FILE, text)


def load_night(folder: Path) -> Night | None:
    """The most recently saved night; None if it cannot be read."""
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
