"""Options that `run`, `check`, `nightly` and the pytest plugin have in common.

They come from the command line, from a TOML file of `nightly`, from pyproject.toml or from a pytest
marker, and mean the same everywhere. Nothing here imports TVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ...oracles.grades.grade import Grade
from .errors import UserError, parse_budget

EXEMPT_INSTEAD = {
    "not-idempotent": "idempotent",
    "changes-functions": "functions",
    "changes-signature": "signature",
    "changes-attributes": "attributes",
    "changes-values": "values",
}
"""Former options and settings, and the name that --exempt takes instead."""


CHECK_BUDGET = "60s"
"""The time of the whole of `relaxfuzz check`, where the user names none."""

SEED_SHARE = 0.5
"""The share of the blocks that have pieces of real modules, where such are given."""


def is_function(source: str) -> bool:
    """A seed is `package.module:function`, no path."""
    if function_in(source) is not None:
        return False
    module, _, function = source.partition(":")
    return function.isidentifier() and all(part.isidentifier() for part in module.split("."))


def function_in(source: str) -> tuple[Path, str] | None:
    """The file and the function of `FILE.py:function`; None if it is spelled otherwise."""
    file, _, function = source.rpartition(":")
    return (Path(file), function) if file.endswith(".py") and function.isidentifier() else None


def seeds_under(folder: Path, seeds: Iterable[str]) -> tuple[str, ...]:
    """The seeds with paths relative to this folder."""
    return tuple(seed if is_function(seed) else str(folder / seed) for seed in seeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxations:
    """The contract of a user's own pass, where it is not the strict default."""

    REPLACED: ClassVar[Mapping[str, str]] = {
        old: f'exempt = ["{oracle}"]' for old, oracle in EXEMPT_INSTEAD.items()
    }
    """Former settings; see `settings.read`."""

    like: str | None = None
    """The pass of the catalogue whose contract it keeps."""
    stages: tuple[str, ...] = ()
    """The stages of the modules that it takes; none: those of its contract."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise it does not make; "values" for all that compare values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """The options of a campaign; every consumer adds its own."""

    passes: tuple[str, ...] = ()
    """Spellings of passes; none: the consumer's default."""
    promises: Mapping[str, Relaxations] = field(default_factory=dict)
    """By the spelling of a user's own pass."""
    budget: str | None = None
    modules: int | None = None
    seed: int | None = None
    out: Path = Path("relaxfuzz-out")
    known: tuple[Path, ...] = ()
    """Folders of the user's known bugs."""
    seeds: tuple[str, ...] = ()
    """Files, folders and functions that give real modules."""
    seed_share: float = SEED_SHARE
    fail_on: Grade = Grade.B
    """The least grade of findings that fail."""

    def time_budget(self, default: str, spelling: str = "--budget") -> float | None:
        """The time budget; None: the number of modules ends the campaign.

        Args:
            default: the budget where neither a time nor a number of modules is given.
            spelling: the option, for the message.

        Raises:
            UserError: the budget is no time.
        """
        if self.budget is None and self.modules is not None:
            return None
        return parse_budget(default if self.budget is None else self.budget, spelling)

    def check_numbers(self, spelling: str = "{}", **more: int | None) -> None:
        """Check the numbers that TOML files and pytest's options do not check themselves.

        Args:
            spelling: the option, for the message; {} stands for its name.
            more: further numbers of the consumer that are 1 at least.

        Raises:
            UserError: a number is too small.
        """
        least = {"modules": (self.modules, 1), "seed": (self.seed, 0)}
        least |= {name: (value, 1) for name, value in more.items()}
        for name, (value, lowest) in least.items():
            if value is not None and value < lowest:
                option = spelling.format(name)
                raise UserError(f"expected {option} to be {lowest} or more but got {value}")
