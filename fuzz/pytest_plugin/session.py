"""A session that fuzzes: what is decided once for all its processes."""

from __future__ import annotations

import dataclasses
import json
import os
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from ..output.terminal import counted
from ..process.serialize import plain, typed
from ..user_input.mistake import Mistake
from .items import WITHOUT_SHARDS
from .options import BUDGET, SETTINGS, Settings

if TYPE_CHECKING:
    from ..process.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the processes of a session agree on."""

    session: str
    """Tells it apart from others that write into the same store."""
    seed: int
    passes: tuple[str, ...]
    workers: int = 1
    """Of xdist."""
    shards: int = 1
    """Of each pass."""
    targets: Mapping[str, Any] = field(default_factory=dict)
    """By spelling, as JSON: to read one takes TVM. None where nothing is to run."""
    run: int | None = None
    """Its id among the runs of the store."""

    def target(self, spelling: str) -> Target:
        """The pass of this spelling."""
        from ..process.targets import Target

        made: Target = typed(self.targets[spelling], Target)
        return made


PLAN = pytest.StashKey[Plan]()
"""Where it is, in a session that fuzzes."""

SPLIT = pytest.StashKey[int]()
"""Among how many passes the time is split: those that were not deselected."""

KEY = "relaxfuzz"
"""Under which a worker of xdist is told the plan."""


def plan(config: pytest.Config, settings: Settings) -> Plan:
    """What is decided before anything is collected.

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
    return Plan(
        session=f"{os.getpid()}-{uuid.uuid4().hex[:8]}",
        seed=settings.seed,
        passes=passes,
        workers=workers,
        shards=shards,
    )


def _workers(spec: str) -> int:
    """How many workers of xdist an option such as `--tx 3*popen` asks for."""
    times, star, _ = spec.partition("*")
    return int(times) if star and times.isdecimal() else 1


def told(plan: Plan) -> str:
    """The plan for a worker of xdist."""
    return json.dumps(plain(plan))


def given(text: str) -> Plan:
    """What `told` gave."""
    made: Plan = Plan(**json.loads(text))
    return dataclasses.replace(made, passes=tuple(made.passes))


def header(settings: Settings, plan: Plan) -> str:
    """What is to be fuzzed, in one line."""
    budget = f"for {settings.budget or BUDGET}"
    if settings.modules is not None:
        modules = f"on {counted(settings.modules, 'module')}"
        budget = modules if settings.budget is None else f"{modules}, {budget} at most"
    return f"relaxfuzz: {', '.join(plan.passes)} {budget}, seed {plan.seed}"


def is_controller(config: pytest.Config) -> bool:
    """The items run in workers of xdist, and this process starts them."""
    return config.pluginmanager.hasplugin("dsession")


def collected(config: pytest.Config, passes: Collection[str]) -> None:
    """Items of these passes are left to run.

    Raises:
        pytest.UsageError: see `prepare`.
    """
    config.stash[SPLIT] = len(passes)
    if not config.stash[PLAN].targets:
        prepare(config, passes)


def prepare(config: pytest.Config, passes: Collection[str] | None = None) -> None:
    """Find the passes, and open the store.

    Args:
        passes: only these; None: all of the plan.

    Raises:
        pytest.UsageError: a name that is none, promises that nobody can make, a folder that cannot
            serve as a store.
    """
    chosen, settings = config.stash.get(PLAN, None), config.stash[SETTINGS]
    if chosen is None or config.getoption("collectonly"):
        return
    from . import summary

    try:
        named = [each for each in chosen.passes if passes is None or each in passes]
        targets = _targets(named, settings)
        run = summary.begin(config, chosen, targets)
    except Mistake as error:
        raise pytest.UsageError(f"relaxfuzz: {error}") from None
    found = {spelling: plain(target) for spelling, target in targets.items()}
    config.stash[PLAN] = dataclasses.replace(chosen, targets=found, run=run)


def _targets(passes: Collection[str], settings: Settings) -> Mapping[str, Target]:
    from ...generators.tvm_api import TVMUnsupported, require_tvm
    from ..user_input.options import Relaxations
    from ..user_input.targets import by_spelling

    try:
        require_tvm()
    except TVMUnsupported as error:
        raise Mistake(str(error)) from None
    return by_spelling(tuple(passes), Relaxations(), settings.promises)
