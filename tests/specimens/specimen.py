"""The record of one specimen: a pass with a known fault, or a correct one."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import tvm

from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.passcall import PassCall


class Family(enum.StrEnum):
    """The kind of fault that a pass has."""

    CRASH = "crash and signal"
    STRUCTURE = "structure and types"
    MUTATION = "mutation and aliasing"
    STATE = "nondeterminism and hidden state"
    VALUES = "wrong values"
    CORRECT = "correct, but suspicious"


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """A pass with a known fault, or a correct one that looks as if it had one.

    `tests.specimens.witnesses` holds the modules that show the fault, apart from the record: the
    processes that load a pass need none of them.
    """

    factory: str
    """The pass as users spell theirs: "package.module:factory" or "path/to/file.py:factory"."""
    family: Family
    fault: str
    """One sentence: what is wrong and when; of a correct pass, why it looks wrong."""
    source: str
    """The upstream fix or report that the fault is modelled on ("apache/tvm#12345: its title"), the
    true pass that a correct one resembles, or who wrote the pass."""
    like: str | None = None
    """The pass of the catalogue whose contract it is to keep; None: the strict contract."""
    stages: tuple[Stage, ...] = (Stage.RAW,)
    """The stages of the modules that it takes; none: those of its contract."""
    modules: str | None = None
    """The family of modules that it takes, where no stage names it; None: that of its contract."""
    needs: tuple[str, ...] = ()
    """The features of a module that must meet for the fault to show, where they are two or more."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise it does not make, as its author would state."""

    @property
    def name(self) -> str:
        """The name of the function that makes it."""
        return self.factory.rpartition(":")[2]

    @property
    def call(self) -> PassCall:
        """The call of the pass, as of any user's own pass."""
        return PassCall(f"{self.name}()", factory=self.factory, like=self.like)


def of(make: Callable[[], tvm.transform.Pass]) -> str:
    """The factory of a pass, spelled by its import path."""
    return f"{make.__module__}:{make.__name__}"
