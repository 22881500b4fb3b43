"""A module between two passes: what is recorded of it to detect a change in place.

A module of a real model holds gigabytes of constants. Their data is never copied and never read
here: a constant is the object that it is, and what a pass writes into its data is not noticed.
"""

from __future__ import annotations

import math

import tvm
import tvm_ffi

from ...generators.tvm_api import save_json
from ...oracles import keys
from ...oracles.inspect import nodes, relax_functions
from ...oracles.pass_runs import Given, same_functions

LARGEST = 16 << 20
"""Bytes of constants up to which the text of a module is recorded before a pass."""


class State(Given):
    """A module as it is when a pass is about to run."""

    def __init__(self, mod: tvm.IRModule, sound: tvm.IRModule | None) -> None:
        """
        Args:
            sound: a module that was found to be well-formed.
        """
        super().__init__(mod, mark(mod))
        if sound is not None and same_functions(sound, mod):
            self.__dict__["flaw"] = None

    @property
    def intact(self) -> bool:
        """It is what it was, but for the data of constants."""
        return mark(self.mod) == self.mark

    @property
    def noted(self) -> bool:
        """Its text was recorded."""
        return self._text is not None

    @property
    def has_relax(self) -> bool:
        """It is not down to PrimFuncs yet."""
        return next(relax_functions(self.mod), None) is not None

    @property
    def portable(self) -> bool:
        """It is small enough to be written."""
        return constant_bytes(self.mod) <= LARGEST

    def restore(self, text: str) -> None:
        """Set the text that it had before it was changed."""
        self._text = text

    def written(self) -> str:
        """The recorded text of the module, or that of now."""
        return self._text if self._text is not None else save_json(keys.comparable(self.mod))


def mark(mod: tvm.IRModule) -> int:
    """A hash of the module without the data of its constants."""
    comparable = keys.comparable(mod)
    return int(tvm_ffi.structural_hash(comparable, map_free_vars=True, skip_tensor_content=True))


def constant_bytes(mod: tvm.IRModule) -> int:
    """What the constants of a module take, each counted once."""
    sizes = {}
    for _, func in relax_functions(mod):
        for constant in nodes(func, tvm.ir.GenericConst):
            value = constant.value
            if isinstance(value, tvm.runtime.Tensor):
                sizes[value] = math.prod(value.shape) * tvm.DataType(value.dtype).bits // 8
    return sum(sizes.values())
