"""The record of one pass of the zoo."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import tvm

from ...generators.stages import Stage
from ...oracles.passcall import PassCall


class Family(enum.StrEnum):
    """What is wrong with a pass."""

    CRASH = "crash and signal"
    STRUCTURE = "structure and types"
    MUTATION = "mutation and aliasing"
    STATE = "nondeterminism and hidden state"
    VALUES = "wrong values"
    CORRECT = "correct, but suspicious"


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """A pass with a known fault, or a correct one that looks as if it had one."""

    make: Callable[[], tvm.transform.Pass]
    """A function at the top of its module: the pass is made from its import path."""
    family: Family
    what: str
    """One sentence: what it does wrong and when; of a correct one, why it looks wrong."""
    models: str
    """The upstream fix or report that the fault is modelled on: "apache/tvm#12345: its title", or a
    commit; of a correct one, which true behaviour of a pass it is like."""
    like: str | None = None
    """The pass of the catalogue whose contract it is to keep; None: the strict contract."""
    stages: tuple[Stage, ...] = (Stage.RAW,)
    """Where it is at home; none: where its contract is."""
    needs: tuple[str, ...] = ()
    """The features of a module that must meet for the fault to show, where they are two or more."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise it does not make, as its author would state."""
    historic: bool = False
    """One of the faults for which relaxfuzz was made."""

    @property
    def name(self) -> str:
        """The name of the function that makes it."""
        return self.make.__name__

    @property
    def call(self) -> PassCall:
        """The call of the pass, as of any user's own pass."""
        factory = f"{self.make.__module__}:{self.name}"
        return PassCall(f"{self.name}()", factory=factory, like=self.like)
