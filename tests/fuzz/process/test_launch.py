"""The zygote of a command is launched before the command imports TVM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.process import launch
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.environment import Environment


@pytest.fixture
def ahead() -> Iterator[psutil.Process]:
    before = set(psutil.Process().children())
    launch.ahead()
    (launched,) = set(psutil.Process().children()) - before
    yield launched
    launch.discard()


def test_the_first_pool_takes_the_zygote_and_the_second_has_its_own(
    ahead: psutil.Process,
) -> None:
    with LocalPool(1, wait=False) as first, LocalPool(1, wait=False) as second:
        assert first.zygote == ahead.pid
        assert second.zygote != ahead.pid


def test_a_pool_in_another_environment_does_not_take_it(
    ahead: psutil.Process, tmp_path: Path
) -> None:
    with LocalPool(1, environment=Environment(folder=tmp_path), wait=False) as pool:
        assert pool.zygote != ahead.pid


def test_a_zygote_whose_driver_ends_before_it_has_a_pool_ends_quietly() -> None:
    launched = launch.launch(Environment())
    assert launched.process.stdin is not None
    launched.process.stdin.close()
    assert launched.process.wait(60) == 0
    launched.discard()
