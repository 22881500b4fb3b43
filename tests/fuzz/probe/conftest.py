"""Workers that know nothing yet of what works on this TVM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relaxfuzz.compat.availability import Availability
from relaxfuzz.fuzz.process.local_pool import LocalPool


@pytest.fixture(scope="session")
def intact() -> Iterator[LocalPool]:
    with LocalPool(2, available=Availability()) as pool:
        yield pool
