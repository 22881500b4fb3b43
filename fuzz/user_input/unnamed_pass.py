"""A pass object without a spelling, which only this process has."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import tvm
from tvm.relax.dpl import PatternMatchingRewriter

from ...oracles.passcall import PassCall, as_pass


@dataclass(frozen=True, slots=True)
class UnnamedPass(PassCall):
    """A pass object that only this process has."""

    instance: tvm.transform.Pass | PatternMatchingRewriter | None = None

    def build(self) -> tvm.transform.Pass:
        """The object itself."""
        return as_pass(self.instance)

    def source(self) -> tuple[tuple[str, ...], str]:
        """A placeholder: no source builds the object."""
        label = self.expr.removesuffix("()")
        return (), f"...  # put your pass {label!r} here: it has no import path"

    def named(self) -> PassCall | None:
        """The pass by a name in an imported module, from which other processes can import it."""
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) is None or module.__name__ == "__main__":
                continue
            for name, value in list(vars(module).items()):
                if value is self.instance:
                    return PassCall(self.expr, self.config, factory=f"{module.__name__}:{name}")
        return None
