"""What the items of one process share: the zygote, the store, and the time."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

import pytest

from ...generators.tvm_api import versions
from ..findings.store import Store
from ..process.local_pool import LocalPool
from .options import SETTINGS
from .parts import Parts
from .session import PLAN, SPLIT

LEAST = 1.0
"""Seconds for a pass, however little is left."""


class Clock:
    """Splits the session's time over passes; what one takes too much, the later ones lack.

    In each process of a session runs one: each gets an equal part of the work on every pass.
    """

    def __init__(self, total: float | None, passes: int) -> None:
        self._left = total
        self._passes = passes
        self._begun: set[str] = set()

    def share(self, spelling: str) -> float | None:
        """The time for the item that begins; None: as long as it takes."""
        if self._left is None:
            return None
        self._begun.add(spelling)
        return max(LEAST, self._left / (self._passes - len(self._begun) + 1))

    def spend(self, seconds: float) -> None:
        """So much is gone."""
        if self._left is not None:
            self._left -= seconds

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """What this takes is spent."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.spend(time.monotonic() - begin)


class Workplace:
    """Made for the first item of a process, and closed at its end."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings = config.stash[SETTINGS]
        self.plan = config.stash[PLAN]
        self.versions = versions()
        self.clock = Clock(self.settings.seconds, config.stash[SPLIT])
        with self.clock.running():
            sys.path.append(str(config.rootpath))  # where a repository's own packages are
            self.store = Store(self.settings.out)
            self.pool = LocalPool(1)
            self.parts = Parts(self.settings.out, self.plan.session)

    @classmethod
    def of(cls, config: pytest.Config) -> Workplace:
        """That of this process."""
        made = config.stash.get(_WORKPLACE, None)
        if made is None:
            made = config.stash[_WORKPLACE] = cls(config)
            config.add_cleanup(made.close)
        return made

    def close(self) -> None:
        """Nothing is left running."""
        self.pool.close()
        self.store.close()


_WORKPLACE = pytest.StashKey[Workplace]()
