"""How far a night is: what has to be known to go on with it after any interruption."""

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
    """What a night does, in this order."""

    REPLAY = "replay"
    FUZZ = "fuzz"
    BISECT = "bisect"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A night that has begun."""

    asked: str
    """A digest of what was asked for, and of which TVM: another question is another night."""
    seed: int
    after: int
    """The id of the last run before it; 0 where it is the first."""
    done: tuple[Phase, ...] = ()
    replayed: Mapping[str, str] = field(default_factory=dict)
    """What became of corpora, knowns and findings so far: by item, the status."""
    back: tuple[str, ...] = ()
    """Names of those that had been fixed, and fail again."""
    before: Mapping[str, str] = field(default_factory=dict)
    """What became of them in the night before."""
    unbisected: tuple[str, ...] = ()
    """Ids of findings that there was no time for."""

    @property
    def over(self) -> bool:
        """There is nothing to go on with."""
        return len(self.done) == len(Phase)

    def remember(self, folder: Path) -> None:
        """Write it down; when this returns, it is on the disk."""
        text = json.dumps({"format": FORMAT, **plain(self)}, indent=1)
        with watched(folder):
            write_whole(folder / FILE, text)


def recall(folder: Path) -> Night | None:
    """The night that was written down last; None where there is none that can be read."""
    try:
        data = counted(parse(read_text(folder / FILE, LONGEST_GENERATED)))
        if data.pop("format") != FORMAT:
            return None
        night: Night = typed(data, Night)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return night


def digest(*asked: object) -> str:
    """Of values whose `repr` says all of them."""
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:16]
