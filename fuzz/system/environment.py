"""The folder, import path and variables of a process that runs code of the user's."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of a process to be started, as differences from ours."""

    folder: Path | None = None
    """The working directory; None: ours."""
    path: tuple[Path, ...] = ()
    """Folders of modules, searched before ours."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that are added to ours."""

    def all_variables(self) -> dict[str, str]:
        """All environment variables; the process can import everything that we can."""
        ours = map(os.path.abspath, filter(None, sys.path))
        path = os.pathsep.join([*map(str, self.path), *ours])
        return {**os.environ, **self.variables, "PYTHONPATH": path}


HERE = Environment()
"""The environment without a difference."""
