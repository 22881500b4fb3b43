"""What all tests share."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

from relaxfuzz.compat.script import outer_frames
from relaxfuzz.fuzz.process.local_pool import LocalPool

# The modules in tests are TVMScript: collecting the tests took three times as long.
inspect.getouterframes = outer_frames

# What explains a failure traces every line, and makes hundreds of examples after a search.
settings.register_profile("tests", settings(), phases=set(Phase) - {Phase.explain})
settings.load_profile("tests")


gc.disable()  # what is imported stays: collections of garbage took a tenth of the time


def pytest_collection_finish() -> None:
    """What is loaded by now stays: a collection of garbage need not go through it each time."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000, 10, 10)  # with 700, collections took a twentieth of the time


@pytest.fixture(scope="session")
def pool() -> Iterator[LocalPool]:
    """Two workers, which survive what tests do to them."""
    with LocalPool(2) as pool:
        yield pool
