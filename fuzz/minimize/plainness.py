"""The comparison of modules of equal size: the one with fewer rare things is plainer.

Users are more likely to meet a plain module; see `oracles.grades.rare`.
"""

from __future__ import annotations

import functools

import tvm

from ...oracles.grades.rare import rare
from ...oracles.inspect import bindings_of, relax_functions


class Plainness:
    """The size of a module, and the number of rare things in it, computed on demand."""

    def __init__(self, mod: tvm.IRModule) -> None:
        self._mod = mod
        self._size = size(mod)

    @functools.cached_property
    def rare(self) -> int:
        """The number of rare things in the module."""
        return len(rare(self._mod))

    def loses_to(self, other: Plainness) -> bool:
        """Return whether the other module has the same size and fewer rare things."""
        return self._size == other._size and self.rare > other.rare


def size(mod: tvm.IRModule) -> tuple[int, int, int]:
    """The numbers of functions, bindings and parameters of a module, as a reader counts them."""
    params = sum(len(func.params) for _, func in relax_functions(mod))
    return len(mod.functions), len(bindings_of(mod)), params
