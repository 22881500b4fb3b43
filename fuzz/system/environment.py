"""The folder, import path and variables of a process that runs code of the user's."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import sanitizers


@dataclass(frozen=True, slots=True)
class Environment:
    """Of a process that is started, where it differs from ours."""

    folder: Path | None = None
    """The working directory; None: ours."""
    path: tuple[Path, ...] = ()
    """Folders of modules, searched before ours."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Added to ours."""

    def all_variables(self) -> dict[str, str]:
        """All environment variables; the process can import whatever we can."""
        ours = map(os.path.abspath, filter(None, sys.path))
        path = os.pathsep.join([*map(str, self.path), *ours])
        return {**os.environ, **sanitizers.variables(), **self.variables, "PYTHONPATH": path}


HERE = Environment()
"""No difference."""
