"""The folder, import path and variables of a process that runs user code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of a process to start, as differences from ours."""

    folder: Path | None = None
    """The working directory; None: ours."""
    path: tuple[Path, ...] = ()
    """Folders of modules, searched before ours."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to ours."""

    def all_variables(self) -> dict[str, str]:
        """All environment variables, so that the process can import everything we can."""
        ours = map(os.path.abspath, filter(None, sys.path))
        path = os.pathsep.join([*map(str, self.path), *ours])
        return {**os.environ, **self.variables, "PYTHONPATH": path}


HERE = Environment()
"""The environment without a difference."""
