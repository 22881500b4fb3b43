"""The names that commands take, available without TVM, to find mistakes before its import.

A command that has imported TVM writes them to the cache folder. They are used while the sources of
TVM and relaxfuzz stay unchanged.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ...compat import build
from ...generators.near import no_pass
from ..system.errors import UserError, near

RELAX = "tvm.relax.transform"
"""The module of a pass whose name has no module prefix."""

_PLAIN = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(|$)")
"""A spelling whose name has no module prefix; others are left to the catalogue itself."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names of one build of TVM, including names that it lacks."""

    passes: tuple[str, ...]
    oracles: tuple[str, ...]


def known() -> Vocabulary | None:
    """The names, if a command on this build has written them."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        found = json.loads(_file().read_text(encoding="utf-8"))
        return Vocabulary(**{name: tuple(names) for name, names in found.items()})
    return None


def keep(vocabulary: Vocabulary) -> None:
    """Write the names unless they exist."""
    if known() is None:
        with contextlib.suppress(OSError):  # without the file, TVM is imported first
            build.write(_file(), json.dumps(asdict(vocabulary)))


def _file() -> Path:
    return build.folder() / f"{build.source_stamp()}.names.json"


def check(*, passes: Sequence[str] | None = None, oracles: Sequence[str] | None = None) -> None:
    """Refuse names that are certainly unknown.

    Args:
        passes: spellings of passes.
        oracles: names of oracles.

    Raises:
        UserError: there is nothing of that name.
    """
    for spelling in passes or ():
        place = spelling.partition("(")[0].partition(":")[0]
        if place.endswith(".py") and not Path(place).is_file():
            raise UserError(f"No file {place!r} for the pass {spelling!r}")
    if not passes and not oracles:
        return
    names = known()
    if names is None:
        return
    for spelling in passes or ():
        found = _PLAIN.match(spelling)
        if found is not None and found[1] not in names.passes:
            raise UserError(no_pass(found[1], RELAX, names.passes))
    if "all" not in (oracles or ()):
        for name in oracles or ():
            if name not in names.oracles:
                raise no_oracle(name, names.oracles)


def no_oracle(name: str, known: Iterable[str]) -> UserError:
    """The error for an unknown oracle."""
    return UserError(f"no oracle {name!r}{near(name, known)}")
