"""What a process finds around it that executes code of the user's."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of a process that is started; without any, it stands where we do."""

    folder: Path | None = None
    """The current one; None: ours."""
    path: tuple[Path, ...] = ()
    """Where modules are found, before where we find them."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the environment, besides ours."""

    @property
    def environment(self) -> dict[str, str]:
        """Whole; passes come by import path, and what we can import, that process can."""
        ours = map(os.path.abspath, filter(None, sys.path))
        path = os.pathsep.join([*map(str, self.path), *ours])
        return {**os.environ, **self.variables, "PYTHONPATH": path}


HERE = Surroundings()
"""Where we stand."""
