"""What campaigns check, where their modules come from, and the counts of their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...generators.stages import Stage
from ...generators.traits import Trait
from ...oracles.passcall import PassCall


@dataclass(frozen=True, slots=True)
class Target:
    """One pass to fuzz: with the variants of its contract, or with fixed arguments."""

    name: str
    """The catalogue name, or the label of a user's own pass."""
    call: PassCall | None = None
    """None: variants are drawn from the catalogue's contract."""
    stages: tuple[Stage, ...] = ()
    """Only these stages; empty: those of the contract."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise this pass does not make (a user's own pass), e.g. "idempotent"."""

    @property
    def label(self) -> str:
        """The name of its item in the schedule: the fixed call, or the name."""
        return self.name if self.call is None else self.call.expr


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a generated module comes from: enough to generate it again in any process."""

    seed: int
    index: int
    stage: Stage = Stage.RAW
    disabled: tuple[Trait, ...] = ()
    ops: tuple[str, ...] = ()
    """The operators to generate it from; empty: all."""


@dataclass(frozen=True, slots=True)
class PassStats:
    """Counts for one item of the schedule: a pass, "sequence", or a pipeline."""

    checks: int = 0
    inapplicable: int = 0
    """Modules that the contract's `requires` or `variants` rejected: no check."""
    violations: int = 0
    seconds: float = 0.0
    avoided: int = 0
    """Modules that would trigger a known bug: no check."""
    changed: int = 0
    """Checks in which the pass changed the module."""
    sampled: Mapping[str, int] = field(default_factory=dict)
    """By oracle above tier 1: the checks that it was part of."""

    def __add__(self, other: PassStats) -> PassStats:
        return PassStats(
            self.checks + other.checks,
            self.inapplicable + other.inapplicable,
            self.violations + other.violations,
            self.seconds + other.seconds,
            self.avoided + other.avoided,
            self.changed + other.changed,
            {
                name: self.sampled.get(name, 0) + other.sampled.get(name, 0)
                for name in {**self.sampled, **other.sampled}
            },
        )
