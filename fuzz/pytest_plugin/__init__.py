"""The pytest plugin: `pytest --relaxfuzz PASS`, and what tests of one's own use.

Loading it imports neither TVM nor Hypothesis: the work is in modules that the hooks import when
there is something to do.
"""

from __future__ import annotations

import pytest

from . import options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read what was asked for."""
    config.stash[options.SETTINGS] = options.settings(config)
