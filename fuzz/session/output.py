"""The output of a session: lines and progress on stderr, JSON events on stdout."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Mapping

from rich.console import Console

from ..output.terminal import Display, display
from ..process.executor import News


class Output:
    """Any thread may use it."""

    def __init__(self, *, as_json: bool) -> None:
        """
        Args:
            as_json: print results as JSON events, one a line.
        """
        self.as_json = as_json
        self.display: Display = display(Console(stderr=True))
        self._lock = threading.Lock()

    def line(self, text: str, event: Mapping[str, object] | None = None, style: str = "") -> None:
        """A line for people; where JSON is wanted, the event instead, if there is one."""
        if self.as_json and event is not None:
            self.emit(event)
        else:
            self.display.line(text, style)

    def emit(self, event: Mapping[str, object]) -> None:
        """One line of JSON."""
        with self._lock:
            print(json.dumps(event), flush=True)

    def news(self, news: News) -> None:
        """Something happened to the workers of a cluster."""
        self.line(news.text, {"event": "cluster", **dataclasses.asdict(news)})
