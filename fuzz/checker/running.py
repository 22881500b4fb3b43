"""The passes that run in a thread, innermost last: passes run others inside.

TVM does not call an instrument when a pass raises. The Python frames that called the passes show
which passes have ended.

The input of each pass is recorded to detect changes in place. A module of a real model holds
gigabytes of constants, whose data is never copied or read here. Constants are identified by their
objects, so writes into their data go unnoticed.
"""

from __future__ import annotations

import functools
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, SupportsIndex

import tvm
import tvm_ffi

from ...compat import ir
from ...compat.serialization import save_json
from ...oracles import keys
from ...oracles.expected.expectations import Expectations
from ...oracles.inspect import nodes, relax_functions
from ...oracles.pass_runs import Given, same_functions

LARGEST = 16 << 20
"""Bytes of constants up to which the text of a module is recorded before a pass."""

LARGEST_KERNEL = 1 << 15
"""Most iterations of a PrimFunc to evaluate: each of the sixty passes of `tirx.build` is judged by
the values of its result, mostly computed in Python loops."""


class PassInput(Given):
    """A module at the moment before a pass runs."""

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
        """True if the module is unchanged, apart from the data of constants."""
        return mark(self.mod) == self.mark

    @property
    def noted(self) -> bool:
        """True if the text of the module was recorded."""
        return self._text is not None

    @property
    def has_relax(self) -> bool:
        """True if the module has Relax functions."""
        return next(relax_functions(self.mod), None) is not None

    @functools.cached_property
    def expectations(self) -> Expectations:
        """The expected results of its functions; large PrimFuncs have none."""
        return Expectations(self.mod, LARGEST_KERNEL)

    @property
    def portable(self) -> bool:
        """True if the module is small enough to be written to a file."""
        return constant_bytes(self.mod) <= LARGEST

    def written(self) -> str:
        """The recorded text of the module, or the current one."""
        return self._text if self._text is not None else save_json(keys.comparable(self.mod))


def mark(mod: tvm.IRModule) -> int:
    """A hash of the module without the data of its constants."""
    comparable = keys.comparable(mod)
    return int(tvm_ffi.structural_hash(comparable, map_free_vars=True, skip_tensor_content=True))


def constant_bytes(mod: tvm.IRModule) -> int:
    """The bytes that the constants of a module take, each counted once."""
    sizes = {}
    for _, func in relax_functions(mod):
        for constant in nodes(func, ir.GenericConst):
            value = ir.constant_data(constant)
            if isinstance(value, tvm.runtime.Tensor):
                sizes[value] = math.prod(value.shape) * tvm.DataType(value.dtype).bits // 8
    return sum(sizes.values())


@dataclass(kw_only=True, eq=False)
class Running:
    """One run of one pass."""

    name: str
    state: PassInput
    config: dict[str, Any]
    caller: FrameType
    """The innermost frame of Python around the run."""
    outer: Running | None
    number: int
    """Number of passes of its name that ran before it in `outer`."""
    begun: Counter[str] = field(default_factory=Counter)
    """Number of inner passes that it has run, by name."""
    reached: tvm.IRModule | None = None
    """The result of the inner passes; None: they also work on another module."""
    blamed: bool = False
    """True if an inner pass broke the module."""
    freed: set[str] = field(default_factory=set)
    """Promises that an inner pass does not make."""

    @property
    def made(self) -> tvm.transform.Pass | None:
        """The pass itself, if Python holds it."""
        if self.outer is None or self.outer.caller is not self.caller:
            called = self.caller.f_locals.get("self") if self.caller.f_code is CALL else None
            return called if isinstance(called, tvm.transform.Pass) else None
        inside = self.outer.made
        if not isinstance(inside, tvm.transform.Sequential):
            return None
        same = [each for each in inside.passes if each.info.name == self.name]
        return same[self.number] if self.number < len(same) else None

    @property
    def is_sequential(self) -> bool:
        """True if the pass is TVM's `Sequential`."""
        return type(self.made) is tvm.transform.Sequential

    @property
    def place(self) -> str:
        """The pass and those around it, e.g. `FuseOps (in _pipeline > sequential)`."""
        around, outer = list[str](), self.outer
        while outer is not None:
            around.insert(0, outer.name)
            outer = outer.outer
        return f"{self.name} (in {' > '.join(around)})" if around else self.name

    def takes(self, inner: Running) -> None:
        """Note that an inner pass begins."""
        self.begun[inner.name] += 1
        if self.reached is not None and not same_functions(self.reached, inner.state.mod):
            self.reached = None

    def gets(self, result: tvm.IRModule) -> None:
        """Note that an inner pass has ended."""
        if self.reached is not None:
            self.reached = result

    def groups(self, result: tvm.IRModule) -> bool:
        """Return whether it only runs others, so that its result is that of the last of them."""
        return (
            self.begun.total() > 0
            and self.reached is not None
            and same_functions(self.reached, result)
        )


class Stack(list[Running]):
    """The passes that run in this thread."""

    def __init__(self, over: Callable[[Running], None]) -> None:
        """
        Args:
            over: called with each pass that has ended.
        """
        super().__init__()
        self._over = over
        self.sound: tvm.IRModule | None = None
        """The latest result of a pass that was found to be well-formed."""
        self.busy = False
        """True during checks, which themselves run passes."""

    def pop(self, index: SupportsIndex = -1) -> Running:
        running = super().pop(index)
        self._over(running)
        return running

    def drop_dead(self) -> None:
        """Remove the passes whose callers have returned: their exceptions were caught."""
        if self:
            alive = set(map(id, _frames(sys._getframe(1))))
            while self and id(self[-1].caller) not in alive:
                self.pop()

    def end(self, name: str) -> Running | None:
        """Remove the innermost run of a pass of this name, which has ended, and all inside it."""
        while self:
            running = self.pop()
            if running.name == name:
                return running
        return None

    def raised(self, trace: TracebackType | None) -> Running | None:
        """The innermost pass that an exception has left; all ended passes are removed."""
        frames = set()
        while trace is not None:
            frames.add(id(trace.tb_frame))
            trace = trace.tb_next
        alive = set(map(id, _frames(sys._getframe(1))))
        over: list[Running] = []
        while self and id(self[-1].caller) not in alive:
            over.append(self.pop())
        # An exception loses its inner frames on the way through C++.
        return over[0] if any(id(running.caller) in frames for running in over) else None


CALL = tvm.transform.Pass.__call__.__code__
"""The code through which every call of a pass from Python goes."""


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
