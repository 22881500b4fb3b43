"""What the processes and modules of a session that fuzzes agree on. Nothing here imports TVM."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from ..output.terminal import counted
from .options import BUDGET, Settings

KEY = "relaxfuzz"
"""The key of the plan in the input of an xdist worker."""

WITHOUT_SHARDS = ("each", "loadfile", "loadscope")
"""Modes of `--dist` that give all items to one worker, or each item to all."""


class Failure(Exception):
    """A failed item. Its text is complete: frames of the plugin would explain nothing."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the work on one pass."""

    spelling: str
    """The pass, as the user named it."""
    number: int = 0
    """From 0."""
    count: int = 1

    @property
    def name(self) -> str:
        """`FuseOps`, or `FuseOps[1/2]` where there are two."""
        if self.count == 1:
            return self.spelling
        return f"{self.spelling}[{self.number + 1}/{self.count}]"

    def seed(self, session: int) -> int:
        """Its own seed; the first shard has the session's, so that one alone is as in `run`."""
        if self.number == 0:
            return session
        digest = hashlib.sha256(f"{session}/{self.number}".encode()).digest()
        return int.from_bytes(digest[:4]) >> 1

    def modules(self, total: int) -> int:
        """Its part of the modules of the pass."""
        return total * (self.number + 1) // self.count - total * self.number // self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a session; the controller of xdist sends it to the workers."""

    seed: int
    passes: tuple[str, ...]
    workers: int = 1
    """Of xdist."""
    shards: int = 1
    """Of each pass."""
    targets: Mapping[str, Any] = field(default_factory=dict)
    """By spelling, as JSON: `process.protocol.Target` needs TVM. Empty if nothing is to run."""
    claims: str = ""
    """The folder of `results.Claims`."""
    run: int | None = None
    """Its id among the runs of the store."""

    def all_shards(self) -> list[Shard]:
        """The shards of all passes, those of one pass side by side."""
        return [Shard(name, i, self.shards) for name in self.passes for i in range(self.shards)]


PLAN = pytest.StashKey[Plan]()
"""The plan, in a session that fuzzes."""

SPLIT = pytest.StashKey[int]()
"""The number of passes that share the time budget: those that were not deselected."""

RESULT = pytest.StashKey[Mapping[str, Any]]()
"""The `results.ItemResult` of an item, as plain data."""


def plan(config: pytest.Config, settings: Settings) -> Plan:
    """The plan before anything is collected.

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
    shards = 1 if config.getoption("dist", "no") in WITHOUT_SHARDS else workers
    passes = tuple(dict.fromkeys(settings.passes))
    return Plan(seed=settings.seed, passes=passes, workers=workers, shards=shards)


def _workers(spec: str) -> int:
    times, star, _ = spec.partition("*")
    return int(times) if star and times.isdecimal() else 1


def header(settings: Settings, plan: Plan) -> str:
    """What is to be fuzzed, in one line."""
    budget = f"for {settings.budget or BUDGET}"
    if settings.modules is not None:
        modules = f"on {counted(settings.modules, 'module')}"
        budget = modules if settings.budget is None else f"{modules}, at most {settings.budget}"
    return f"relaxfuzz: {', '.join(plan.passes)} {budget}, seed {plan.seed}"
