"""A pass object without a spelling, which only exists in this process."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
from tvm.relax.dpl import PatternMatchingRewriter

from ...oracles.passcall import PassCall, as_pass
from .pass_home import home_of


@dataclass(frozen=True, slots=True)
class UnnamedPass(PassCall):
    """A pass object that only exists in this process."""

    instance: tvm.transform.Pass | PatternMatchingRewriter | None = None

    def build(self) -> tvm.transform.Pass:
        """Return the object itself."""
        return as_pass(self.instance)

    def source(self) -> tuple[tuple[str, ...], str]:
        """A placeholder, as no source builds the object."""
        label = self.expr.removesuffix("()")
        return (), f"...  # put your pass {label!r} here: it has no import path"

    def named(self) -> PassCall | None:
        """The pass under a name in an imported module, from which other processes can import it."""
        home = home_of(self.instance)
        return None if home is None else PassCall(self.expr, self.config, factory=home)
