"""CPU time by name."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Clock:
    """CPU seconds by name, each without what was spent in watched functions below it."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self._below: list[float] = []

    def watch(self, name: str, function: Callable[P, T]) -> Callable[P, T]:
        """The function, with its time on this clock."""

        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            begin = time.process_time()
            self._below.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.process_time() - begin
                self.spent[name] += whole - self._below.pop()
                self.calls[name] += 1
                if self._below:
                    self._below[-1] += whole

        return watched
