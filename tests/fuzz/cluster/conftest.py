"""A Dask cluster of separate processes on this machine, of which any may be killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.dask_processes import Processes

PATIENCE = 60.0
"""Seconds in which anything comes true that will."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Processes]:
    """A scheduler of this test's own, without workers."""
    with Processes(tmp_path) as processes:
        yield processes


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Wait for what takes its time."""

    def wait(condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, "it did not come true"
            time.sleep(0.1)

    return wait
