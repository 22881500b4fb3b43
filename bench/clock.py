"""CPU time by name."""

from __future__ import annotations

import resource
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def cpu_seconds() -> float:
    """CPU seconds of this process and its ended children, as modules are executed in forks."""
    own, theirs = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime


class Clock:
    """CPU seconds by name, each without the time spent in watched functions below it."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self._below: list[float] = []

    def watch(self, name: str, function: Callable[P, T]) -> Callable[P, T]:
        """The function, with its time on this clock."""

        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            begin = cpu_seconds()
            self._below.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                whole = cpu_seconds() - begin
                self.spent[name] += whole - self._below.pop()
                self.calls[name] += 1
                if self._below:
                    self._below[-1] += whole

        return watched
