"""The fixture `relaxfuzz` and the marker of the same name, for tests that are written by hand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from .options import SETTINGS

if TYPE_CHECKING:
    import tvm

    from ..user_input.options import Relaxations
    from .byhand import Options

MARKER = (
    "relaxfuzz(oracles=[...], like='FuseOps', stages=[...], exempt=['idempotent', ...]): the "
    "oracles that the fixture relaxfuzz asks in this test, and the contract of the passes that are "
    "checked in it."
)

_ITEM = pytest.StashKey[pytest.Item]()
"""The test that is running."""

_OPTIONS = pytest.StashKey["Options"]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wrong options are reported before the test begins."""
    item.config.stash[_ITEM] = item
    markers = list(item.iter_markers("relaxfuzz"))
    if not markers:
        return
    problem = _read(item, markers)
    if problem is not None:
        pytest.fail(f"@pytest.mark.relaxfuzz: {problem}", pytrace=False)


def _read(item: pytest.Item, markers: list[pytest.Mark]) -> str | None:
    """Store the options of the markers; or what is wrong with them."""
    from ..user_input.errors import UserError
    from .byhand import options

    given: dict[str, Any] = {}
    for marker in reversed(markers):  # the closest comes first, and wins
        if marker.args:
            return f"expected options by name but got {marker.args[0]!r}"
        given |= marker.kwargs
    try:
        item.stash[_OPTIONS] = options(given)
    except UserError as error:
        return str(error)
    return None


class RelaxFuzz:
    """Checks passes in a test, with the options of its marker `relaxfuzz`."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def check(self, pass_: tvm.transform.Pass | str, mod: tvm.IRModule) -> None:
        """Check that a pass keeps its promises on a module; see `relaxfuzz.check_pass`.

        Args:
            pass_: by name, "FuseOps" or "package.module:Name": checked in a process of its own,
                where it may crash. A pass object is checked in this process.

        Raises:
            PassViolation: it broke a promise.
            UserError: there is no such pass, or an option does not apply.
        """
        __tracebackhide__ = True
        from .byhand import check

        check(pass_, mod, self._options, self._promises(pass_))

    def fuzz(
        self,
        pass_: str,
        *,
        budget: str | None = None,
        modules: int | None = None,
        seed: int = 0,
    ) -> None:
        """Check a pass on generated modules, in processes of its own.

        Known bugs of the installed TVM, and those in folders of --relaxfuzz-known, are no failures.

        Args:
            pass_: "FuseOps" or "package.module:Name".
            budget: a time, "10s" or "2m"; how much is checked then depends on the machine.
            modules: the number of modules. At least one of both is given.
            seed: the same seed gives the same modules.

        Raises:
            PassViolations: the pass broke promises; the message has all bugs, minimized.
            UserError: there is no such pass, an option does not apply, or no module was checked.
        """
        __tracebackhide__ = True
        from .byhand import fuzz

        fuzz(
            pass_,
            self._config.stash[SETTINGS],
            self._options,
            self._promises(pass_),
            budget=budget,
            modules=modules,
            seed=seed,
        )

    def __repr__(self) -> str:
        return "relaxfuzz"

    @property
    def _options(self) -> Options | None:
        return self._config.stash[_ITEM].stash.get(_OPTIONS, None)

    def _promises(self, pass_: object) -> Relaxations | None:
        """The pass's relaxations in pyproject.toml."""
        table = self._config.stash[SETTINGS].promises
        return table.get(pass_) if isinstance(pass_, str) else None


@pytest.fixture(scope="session")  # so that a test of Hypothesis may use it
def relaxfuzz(pytestconfig: pytest.Config) -> RelaxFuzz:
    """Check passes of TVM Relax: `relaxfuzz.check("my_pkg.passes:MyPass", mod)` on a module,
    `relaxfuzz.fuzz("my_pkg.passes:MyPass", modules=200)` on generated ones.

    `@pytest.mark.relaxfuzz(...)` on the test gives options for both.
    """
    root = str(pytestconfig.rootpath)
    if root not in sys.path:
        sys.path.append(root)  # where a repository's own packages are: the workers inherit it
    return RelaxFuzz(pytestconfig)
