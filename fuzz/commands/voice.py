"""What the user hears while a session goes on: progress and lines, or events as JSON."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Mapping

from rich.console import Console

from ..output.terminal import Display, display
from ..process.executor import News


class Voice:
    """Any thread may use it."""

    def __init__(self, *, as_json: bool) -> None:
        """
        Args:
            as_json: results are events, one a line, on stdout.
        """
        self.as_json = as_json
        self.display: Display = display(Console(stderr=True))
        self._lock = threading.Lock()

    def event(self, event: Mapping[str, object]) -> None:
        """One line of JSON."""
        with self._lock:
            print(json.dumps(event), flush=True)

    def news(self, news: News) -> None:
        """Something happened to the workers of a cluster."""
        if self.as_json:
            self.event({"event": "cluster", **dataclasses.asdict(news)})
        else:
            self.display.line(news.text)
