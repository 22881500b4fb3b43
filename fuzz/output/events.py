"""Events for programs: one JSON object per line; docs/report-formats.md has their fields."""

from __future__ import annotations

import json
from collections.abc import Mapping

SCHEMA = 1
"""The version of the events. It changes when a field is removed or changes its meaning."""


def emit(event: Mapping[str, object]) -> None:
    """Print an event with the version of its fields on stdout."""
    print(json.dumps({"schema": SCHEMA, **event}), flush=True)
