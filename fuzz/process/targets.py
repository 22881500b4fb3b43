"""What campaigns check, where their modules come from, and the counts of their checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...generators.families import DEFAULT
from ...generators.seeds import Piece, Whole
from ...generators.stages import Stage
from ...generators.traits import Trait
from ...oracles.catalogue import has_contract
from ...oracles.contract import NO_CONTRACT, Sought
from ...oracles.passcall import PassCall


@dataclass(frozen=True, slots=True)
class Named:
    """What the code of a pass names, and so looks for in a module; see `user_input.named`."""

    ops: tuple[str, ...] = ()
    """Operators of the table, in the order of the code."""
    chains: tuple[tuple[str, ...], ...] = ()
    """Operators of a pattern, each on the result of the one before."""
    traits: tuple[Trait, ...] = ()
    """Those that the classes of nodes and the attributes of functions stand for."""
    unknown: tuple[str, ...] = ()
    """Names of operators that generated modules do not have."""
    numbers: tuple[float, ...] = ()
    """Numbers in its code but -1, 0 and 1, which are everywhere: sizes, exponents, bounds."""
    dtypes: tuple[str, ...] = ()
    """Dtypes in its code."""

    @property
    def usable(self) -> bool:
        """Modules can be made of it."""
        return bool(self.ops or self.traits or self.dtypes)


def of_sought(sought: Sought) -> Named:
    """What a contract says that the pass looks for."""
    return Named(sought.ops, sought.chains, sought.traits, dtypes=sought.dtypes)


@dataclass(frozen=True, slots=True)
class Target:
    """One pass to fuzz: with the variants of its contract, or with fixed arguments."""

    name: str
    """The name of a public pass of TVM, or the label of a user's own pass."""
    call: PassCall | None = None
    """None: variants are drawn from the contract of the pass."""
    stages: tuple[Stage, ...] = ()
    """Only these stages; empty: those of the contract."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise this pass does not make (a user's own pass), e.g. "idempotent"."""
    named: Named = Named()
    """What its code names."""

    @property
    def label(self) -> str:
        """The name of its item in the schedule: the fixed call, or the name."""
        return self.name if self.call is None else self.call.expr


def is_own(item: str) -> bool:
    """An item of the schedule is a user's pass: one of TVM has its bare name, or arguments."""
    return item.endswith("()")


def item_has_contract(item: str) -> bool:
    """An item of the schedule is none of TVM's passes that nobody has written a contract for."""
    return is_own(item) or has_contract(PassCall(item))


def marked(item: str) -> str:
    """An item of the schedule for people, with a mark if it is a pass without a contract."""
    return item if item_has_contract(item) else f"{item} ({NO_CONTRACT})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What modules are made of; see `ir_modules`."""

    family: str = DEFAULT
    """Of `FAMILIES`."""
    target: str | None = None
    """Of the kernels of a device, see `kernels`; None: any."""
    ops: tuple[str, ...] = ()
    """Operators and chains ("matmul > add"), the more frequent ones several times; empty: all."""
    forced: tuple[Trait, ...] = ()
    disabled: tuple[Trait, ...] = ()
    numbers: tuple[float, ...] = ()
    """Numbers that sizes and constants are near."""
    dtypes: tuple[str, ...] = ()
    """Dtypes that most functions use; empty: any."""
    pieces: tuple[Piece, ...] = ()
    """Pieces of real modules that functions are partly made of."""
    edits: tuple[str, ...] = ()
    """The kinds of edits that pieces get; empty: all."""
    whole: Whole | None = None
    """The module itself, a real one; none is generated."""

    def made_of(self, names: Sequence[str]) -> Recipe:
        """For what is stored about one module: the names of its pieces, each with its edits."""
        pieces = tuple(Piece(name, "") for name in names)
        return dataclasses.replace(self, pieces=pieces, whole=None)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a generated module comes from: enough to generate it again in any process."""

    seed: int
    index: int
    stage: Stage = Stage.RAW
    recipe: Recipe = Recipe()


@dataclass(frozen=True, slots=True)
class Avoid:
    """The needs of the known bugs of a pass, and the chance to check it there all the same."""

    patterns: tuple[tuple[str, ...], ...] = ()
    """Features: what all modules had in common on which a known bug showed, for each of them."""
    chance: float = 1.0
    """That the pass is checked on a module that has all of a pattern."""


@dataclass(frozen=True, slots=True)
class PassStats:
    """Counts for one item of the schedule: a pass, "sequence", or a pipeline."""

    checks: int = 0
    inapplicable: int = 0
    """Modules that the contract's `requires` or `variants` rejected, or that have nothing that the
    pass looks for: no check."""
    violations: int = 0
    seconds: float = 0.0
    avoided: int = 0
    """Modules that have what a known bug needs: no check."""
    changed: int = 0
    """Checks in which the pass changed the module."""
    sampled: Mapping[str, int] = field(default_factory=dict)
    """By oracle above tier 1: the checks that it was part of."""
    triggered: int = 0
    """Checks of modules that have what a known bug needs."""
    compared: int = 0
    """Checks in which an oracle compared what the pass has made of the module."""
    silenced: Mapping[str, int] = field(default_factory=dict)
    """By rule of silence: the checks in which it kept an oracle quiet."""
    acted: int = 0
    """Checks in which the pass did what it is for, see `acted`; clean-up alone does not count."""

    def __add__(self, other: PassStats) -> PassStats:
        return PassStats(
            self.checks + other.checks,
            self.inapplicable + other.inapplicable,
            self.violations + other.violations,
            self.seconds + other.seconds,
            self.avoided + other.avoided,
            self.changed + other.changed,
            added(self.sampled, other.sampled),
            self.triggered + other.triggered,
            self.compared + other.compared,
            added(self.silenced, other.silenced),
            self.acted + other.acted,
        )


def added(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    """The sum of two counts."""
    return {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}
