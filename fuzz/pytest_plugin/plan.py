"""The plan of a session that fuzzes, shared by its processes. No code here imports TVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from ..output.terminal import counted
from ..user_input.settings import BUDGET, Settings

KEY = "relaxfuzz"
"""The key of the plan in the input of an xdist worker."""


class ItemFailure(Exception):
    """A failed item. Its text is complete, as frames of the plugin would explain nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """The plan of a session; the controller of xdist sends it to the workers."""

    seed: int
    passes: tuple[str, ...]
    workers: int = 1
    """Number of xdist's workers."""
    targets: Mapping[str, Any] = field(default_factory=dict)
    """Targets by spelling, as JSON: `process.targets.Target` needs TVM. Empty if none runs."""
    run: int | None = None
    """Id of the run in the store."""


PLAN = pytest.StashKey[SessionPlan]()
"""The plan, in a session that fuzzes."""

SPLIT = pytest.StashKey[int]()
"""The number of passes that share the time budget, without deselected ones."""

RESULT = pytest.StashKey[Mapping[str, Any]]()
"""The `results.ItemResult` of an item, as plain data."""


def plan(config: pytest.Config, settings: Settings) -> SessionPlan:
    """Make the plan, before anything is collected.

    Raises:
        pytest.UsageError: pytest is too old.
    """
    if not hasattr(pytest, "Subtests"):
        raise pytest.UsageError(
            f"relaxfuzz: expected pytest 9 or newer for --relaxfuzz but got {pytest.__version__}; "
            "install relaxfuzz[pytest]"
        )
    assert settings.seed is not None, "it is drawn when the settings are read"
    workers = sum(map(_workers, config.getoption("tx", None) or ())) or 1
    passes = tuple(dict.fromkeys(settings.passes))
    return SessionPlan(seed=settings.seed, passes=passes, workers=workers)


def _workers(spec: str) -> int:
    times, star, _ = spec.partition("*")
    return int(times) if star and times.isdecimal() else 1


def header(settings: Settings, plan: SessionPlan) -> str:
    """The passes and the budget, in one line."""
    budget = f"for {settings.budget or BUDGET}"
    if settings.modules is not None:
        modules = f"on {counted(settings.modules, 'module')}"
        budget = modules if settings.budget is None else f"{modules}, at most {settings.budget}"
    return f"relaxfuzz: {', '.join(plan.passes)} {budget}, seed {plan.seed}"
