"""Targets of campaigns, the origins of their modules, and the counts of their checks."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...generators.families import DEFAULT
from ...generators.seeds import Piece, Whole
from ...generators.stages import Stage
from ...generators.traits import Trait
from ...oracles.catalogue import has_contract
from ...oracles.contract import NO_CONTRACT, Sought
from ...oracles.passcall import PassCall


@dataclass(frozen=True, slots=True)
class Named:
    """The things that a pass's code names and thus probably looks for; see `user_input.named`."""

    ops: tuple[str, ...] = ()
    """Operators of the table, in the order of the code."""
    chains: tuple[tuple[str, ...], ...] = ()
    """Operators of a pattern, each applied to the result of the previous one."""
    traits: tuple[Trait, ...] = ()
    """Traits indicated by classes of nodes and attributes of functions in the code."""
    unknown: tuple[str, ...] = ()
    """Names of operators that generated modules do not contain."""
    numbers: tuple[float, ...] = ()
    """Numbers in its code except -1, 0 and 1, which are everywhere: sizes, exponents, bounds."""
    dtypes: tuple[str, ...] = ()
    """Dtypes in its code."""
    threads: bool = False
    """True if the code names threads, or memory that they share: what only kernels have."""
    statements: bool = False
    """True if the code names statements, or schedules them: what only PrimFuncs have."""
    bindings: bool = False
    """True if the code names what only functions of Relax have, or operators."""

    @property
    def usable(self) -> bool:
        """True if it has something that modules can be made from."""
        return bool(self.ops or self.traits or self.dtypes)


def of_sought(sought: Sought) -> Named:
    """The things that the pass looks for, according to its contract."""
    return Named(sought.ops, sought.chains, sought.traits, dtypes=sought.dtypes)


@dataclass(frozen=True, slots=True)
class Target:
    """One pass to fuzz, with its contract's variants or with fixed arguments."""

    name: str
    """The name of a public pass of TVM, or the label of a user's own pass."""
    call: PassCall | None = None
    """A fixed call of the pass; None: its contract's variants are drawn."""
    stages: tuple[Stage, ...] = ()
    """Stages to which it is restricted; empty: those of the contract."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise this pass (a user's own) does not make, e.g. "idempotent"."""
    named: Named = Named()
    """Things that its code names."""

    @property
    def label(self) -> str:
        """The name of its item in the schedule: the fixed call, or the name."""
        return self.name if self.call is None else self.call.expr


def is_own(item: str) -> bool:
    """Return whether an item is a user's pass; an item of TVM's has a bare name, or arguments."""
    return item.endswith("()")


def item_has_contract(item: str) -> bool:
    """Return whether an item of the schedule is not a pass of TVM without a contract."""
    return is_own(item) or has_contract(PassCall(item))


def marked(item: str) -> str:
    """The text of an item of the schedule for people; a pass without a contract is marked."""
    return item if item_has_contract(item) else f"{item} ({NO_CONTRACT})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The ingredients of modules; see `ir_modules`."""

    family: str = DEFAULT
    """A family of `FAMILIES`."""
    target: str | None = None
    """Target device of the kernels, see `kernels`; None: any."""
    ops: tuple[str, ...] = ()
    """Operators and chains ("matmul > add"), repeated according to their frequency; empty: all."""
    forced: tuple[Trait, ...] = ()
    disabled: tuple[Trait, ...] = ()
    numbers: tuple[float, ...] = ()
    """Numbers near which sizes and constants are drawn."""
    dtypes: tuple[str, ...] = ()
    """Dtypes that most functions use; empty: any."""
    pieces: tuple[Piece, ...] = ()
    """Pieces of real modules from which functions are partly made."""
    edits: tuple[str, ...] = ()
    """The kinds of edits that pieces receive; empty: all."""
    whole: Whole | None = None
    """A real module to use itself; no module is generated."""

    def made_of(self, names: Sequence[str]) -> Recipe:
        """The recipe to store for one module: the names of its pieces, each with its edits."""
        pieces = tuple(Piece(name, "") for name in names)
        return dataclasses.replace(self, pieces=pieces, whole=None)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a generated module: enough to generate it again in any process."""

    seed: int
    index: int
    stage: Stage = Stage.RAW
    recipe: Recipe = Recipe()


MOST_BEHAVIOURS = 1000
"""Most behaviours of a pass to count, as a pass may add attributes with ever new names."""


@dataclass(frozen=True, slots=True)
class PassStats:
    """Counts for one item of the schedule: a pass, "sequence", or a pipeline."""

    checks: int = 0
    inapplicable: int = 0
    """Modules that were not checked: the contract's `requires` or `variants` rejected them, or they
    lacked the feature that the pass looks for."""
    violations: int = 0
    seconds: float = 0.0
    changed: int = 0
    """Checks in which the pass changed the module."""
    sampled: Mapping[str, int] = field(default_factory=dict)
    """Number of checks in which each oracle above tier 1 took part."""
    compared: int = 0
    """Checks in which an oracle compared the result of the pass with the module."""
    silenced: Mapping[str, int] = field(default_factory=dict)
    """Number of checks in which each rule of silence kept an oracle quiet."""
    acted: int = 0
    """Checks in which the pass did its actual work, see `acted`; clean-up alone does not count."""
    behind: int = 0
    """Number of times that a check continued past a violation; see `jobs.behind`."""
    stuck: int = 0
    """Checks that ended in a violation that hides others; see `jobs.behind`."""
    did: Mapping[str, int] = field(default_factory=dict)
    """Number of checks in which the pass showed each behaviour, see `behaviours`."""

    def __add__(self, other: PassStats) -> PassStats:
        total: dict[str, Any] = {}
        for name in self.__slots__:
            a, b = getattr(self, name), getattr(other, name)
            total[name] = added(a, b) if isinstance(a, Mapping) else a + b
        total["did"] = dict(itertools.islice(total["did"].items(), MOST_BEHAVIOURS))
        return PassStats(**total)


def added(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    """The sum of two counts."""
    return {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}
