"""The settings of a nightly run: a TOML file, and options that win over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..cluster.connection import address_of
from ..loading.seeds import sources
from ..loading.targets import targets_of
from ..process.targets import Target
from ..reproducer.replay import items
from ..session.chosen import affected_targets, campaign_of, environment_of, timeout_of
from ..system.errors import UserError
from ..user_input.settings import NIGHT, Settings, merged


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyPlan:
    """The settings, resolved."""

    settings: Settings
    targets: tuple[Target, ...]
    """None if a change of TVM's source affects no passes."""
    everything: bool
    """True if all passes are fuzzed, and with them their sequences and pipelines."""


def plan(written: Settings, options: Mapping[str, Any]) -> NightlyPlan:
    """Merge the file and the options, and check the result before anything runs.

    Args:
        options: the given options of the command line, named like the settings.

    Raises:
        UserError: a value is wrong, and the text names it.
    """
    settings = merged(written, options)
    if settings.scheduler is not None:
        address_of(settings.scheduler)
    for spelling in written.promises:
        if spelling not in written.passes:
            raise UserError(f"promises: {spelling!r} is none of the passes {list(written.passes)}")
    passes = targets_of(settings)
    affected = affected_targets(settings, passes)
    campaign_of(settings, passes, budget=NIGHT)
    environment_of(settings)
    timeout_of(settings)
    for path in settings.corpus:
        for _ in items(path):
            pass
    sources(settings.seeds)
    for path in settings.known:
        if not path.is_dir() and not settings.known_update:
            raise UserError(f"expected a folder of knowns but got '{path}'")
    everything = not settings.passes and affected == passes
    return NightlyPlan(settings=settings, targets=affected, everything=everything)
