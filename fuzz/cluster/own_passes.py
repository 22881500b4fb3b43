"""The user's own passes, whose files each worker has under the same paths as the driver."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ...oracles.passcall import PassCall
from ...oracles.passcall import own as own_pass
from ..system.environment import HERE, Environment


def environment(calls: Iterable[PassCall]) -> Environment:
    """The environment in which workers find these passes: the current folder and PYTHONPATH."""
    if not _own(calls):
        return HERE
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = [Path(name).absolute() for name in named]
    # Packages that are installed here are also installed there.
    apart = [each for each in folders if {"site-packages", "dist-packages"}.isdisjoint(each.parts)]
    return Environment(Path.cwd(), tuple(apart))


def places(calls: Iterable[PassCall]) -> tuple[str, ...]:
    """The files of these passes, and the folder with their modules; empty for TVM's own."""
    own = _own(calls)
    files = {place for factory in own if (place := own_pass(factory)[0]).endswith(".py")}
    return (*sorted(files), str(Path.cwd())) if own else ()


def _own(calls: Iterable[PassCall]) -> list[str]:
    return [call.factory for call in calls if call.factory is not None]
