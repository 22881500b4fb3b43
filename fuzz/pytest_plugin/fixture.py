"""The fixture `relaxfuzz` and the marker of the same name, for tests that are written by hand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from ..user_input.errors import UserError
from .options import ITEM

if TYPE_CHECKING:
    from .byhand import RelaxFuzz

MARKER = (
    "relaxfuzz(oracles=[...], like='FuseOps', stages=[...], exempt=['idempotent', ...]): the "
    "oracles that the fixture relaxfuzz asks in this test, and the contract of the passes that are "
    "checked in it."
)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wrong options are reported before the test begins."""
    item.config.stash[ITEM] = item
    if item.get_closest_marker("relaxfuzz") is None:
        return
    from .byhand import options

    try:
        options(item)
    except UserError as error:
        pytest.fail(f"@pytest.mark.relaxfuzz: {error}", pytrace=False)


@pytest.fixture(scope="session")  # so that a test of Hypothesis may use it
def relaxfuzz(pytestconfig: pytest.Config) -> RelaxFuzz:
    """Check passes of TVM Relax: `relaxfuzz.check("my_pkg.passes:MyPass", mod)` on a module,
    `relaxfuzz.fuzz("my_pkg.passes:MyPass", modules=200)` on generated ones.

    `@pytest.mark.relaxfuzz(...)` on the test gives options for both.
    """
    from .byhand import RelaxFuzz

    root = str(pytestconfig.rootpath)
    if root not in sys.path:
        sys.path.append(root)  # where a repository's own packages are: the workers inherit it
    return RelaxFuzz(pytestconfig)
