"""Which of two modules of one size is the plainer one: that with fewer rare things in it.

The grade of a finding depends on what is rare in its module; see `oracles.grades.rare`.
"""

from __future__ import annotations

import tvm

from ...oracles.grades.rare import rare
from ...oracles.inspect import bindings_of, relax_functions


class Plainness:
    """The size of a module, and how much is rare in it, once somebody asks."""

    def __init__(self, mod: tvm.IRModule) -> None:
        self._mod = mod
        self._size = size(mod)
        self._rare: int | None = None

    @property
    def rare(self) -> int:
        """How many things are rare in the module, of those that are seen without running code."""
        if self._rare is None:
            self._rare = len(rare(self._mod, tried=False))
        return self._rare

    def loses_to(self, other: Plainness) -> bool:
        """The other module is as small, and less is rare in it."""
        return self._size == other._size and self.rare > other.rare


def size(mod: tvm.IRModule) -> tuple[int, int, int]:
    """The functions, bindings and parameters of a module, which a reader counts."""
    params = sum(len(func.params) for _, func in relax_functions(mod))
    return len(mod.functions), len(bindings_of(mod)), params
