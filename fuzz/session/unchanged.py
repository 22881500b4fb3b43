"""Passes that never did their actual work, and so were hardly tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...generators.families import DEFAULT, FAMILIES, by_family
from ..process.targets import PassStats, Target
from ..report.behaviours import did

AT_LEAST = 50
"""Number of checks after which an unchanging pass is reported, since chance is then unlikely."""

MOST = 3
"""Most behaviours of a pass to name."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A pass that changed nothing, except by clean-up."""

    target: Target
    stats: PassStats
    """Its counts; each change was made without doing its actual work."""

    @property
    def mostly(self) -> list[str]:
        """Its behaviours, the most frequent first."""
        return [behaviour for behaviour, _ in did(self.stats)[:MOST]]

    @property
    def sentence(self) -> str:
        """One sentence for people; for a user's pass, with the features that it looks for."""
        name, checks = self.target.name, self.stats.checks
        if self.stats.changed:
            sought = ", ".join((*self.target.named.ops, *self.target.named.traits))
            return (
                f"{name} changed {self.stats.changed} modules in {checks} checks, none of them "
                f"in what it works on{sought and f' ({sought})'}: little of it was tested."
                + (f" It mostly {', '.join(self.mostly)}." if self.mostly else "")
            )
        if self.target.call is None or self.target.call.factory is None:
            return f"{name} changed nothing in {checks} checks: little of it was tested."
        named = self.target.named
        names = [*named.ops, *map(str, named.traits)]
        parts = [
            f"{name} changed nothing in {checks} checks: "
            "does it look for something that relaxfuzz does not make?"
        ]
        if names:
            parts.append(f"Its code names {', '.join(names)}, which modules had.")
        if named.unknown:
            parts.append(f"relaxfuzz does not make {', '.join(named.unknown)}.")
        if not names and not named.unknown:
            parts.append("Its code names no operator.")
        mine = _families(self.target)
        others = ", ".join(f"--family {name}" for name in FAMILIES if name not in mine)
        parts.append(f"It was given modules of {of_families(mine)} only; of others: {others}.")
        return " ".join(parts)

    @property
    def event(self) -> dict[str, object]:
        """The pass as a JSON event."""
        named = self.target.named
        return {
            "event": "unchanged",
            "pass": self.target.name,
            "checks": self.stats.checks,
            "changed": self.stats.changed,
            "did": self.mostly,
            "names": [*named.ops, *map(str, named.traits)],
            "not_made": list(named.unknown),
        }


def _families(target: Target) -> tuple[str, ...]:
    return tuple(by_family(target.stages)) or (DEFAULT,)


def of_families(names: Sequence[str]) -> str:
    """The names with their noun: `the family tensorir`, `the families tensorir and dlight`."""
    return f"the {'family' if len(names) == 1 else 'families'} {' and '.join(names)}"


def own_families(targets: Sequence[Target]) -> dict[str, tuple[str, ...]]:
    """The families of the user's passes that get modules other than Relax modules."""
    own = (each for each in targets if each.call is not None and each.call.factory is not None)
    found = {each.name: _families(each) for each in own}
    return {name: families for name, families in found.items() if families != (DEFAULT,)}


def unchanged(targets: Sequence[Target], stats: Mapping[str, PassStats]) -> Iterator[Unchanged]:
    """The passes that did not do their actual work in enough checks.

    Args:
        stats: counts by item of the schedule.
    """
    for target in targets:
        done = stats.get(target.label, PassStats())
        idle = not done.changed or target.named.usable
        if done.checks >= AT_LEAST and idle and not done.acted:
            yield Unchanged(target, done)
