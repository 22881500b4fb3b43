"""Commands in the process of a test take what there is, where they start processes as users.

A zygote, and a process that builds a pass of the user, import TVM anew, which takes seconds. The
commands of `tests.commands`, and programs under `relaxfuzz watch`, start their own as ever.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

from relaxfuzz.fuzz.loading import targets
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input import probe
from relaxfuzz.fuzz.user_input.pass_type import Probed


def share_pool(patch: pytest.MonkeyPatch, pool: LocalPool, *modules: ModuleType) -> None:
    """Give the pool to modules that start one."""

    def shared(workers: int, **options: Any) -> contextlib.AbstractContextManager[LocalPool]:
        return contextlib.nullcontext(pool)

    for module in modules:
        patch.setattr(module, "LocalPool", shared)


def probe_here(patch: pytest.MonkeyPatch) -> None:
    """Build the passes that a command is given in its own process."""

    def probed(likes: Mapping[str, str | None]) -> Mapping[str, Probed]:
        found: dict[str, Probed] = {}
        for spelling, like in likes.items():
            tried = probe._tried(spelling, like)
            if isinstance(tried, str):
                raise UserError(tried)
            found[spelling] = tried
        return found

    patch.setattr(targets, "probe", probed)
