"""Runs of PrimFuncs, one element at a time, with every check that compiled code omits.

The faults, and the rules for them:

- An access whose index is outside the buffer's shape in any dimension. A branch not taken by
  `if_then_else`, `Select`, `And`, `Or` or a block's predicate makes no access (code generation
  comes after a rewrite of `Select` to that end: `s_tir.transform.RewriteUnsafeSelect`).
- A read of unwritten memory: of buffers that the PrimFunc allocates, and of the
  parameters that the caller names as outputs, which `call_tir` allocates. Every element of an
  output must be written.
- A race: see `races`.
- Parameters that share memory, if one of them is written and the attribute `tirx.noalias` promises
  that they do not.
- Arithmetic without a result in LLVM: integers divided by zero, a shift by the width or more, a
  float converted to an integer type that cannot hold it, signed overflow inside an index.

The regions that blocks declare (`T.reads`, `T.writes`) are not compared with the accesses: the
documentation says that they "declare buffer access regions" (docs/arch/tvmscript.rst), but not
whether a block may access others, and the blocks of external operators declare none at all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx

from ...errors import Mismatch, TooLarge, Undefined, Unsupported
from ..dependence import LoopPlan
from ..program import STEPS
from ..threads.checked import CheckedThreads
from ..threads.checks import NAMES as CHECKS
from ..threads.grid import NAMES as GRID
from ..threads.launch import is_device_code, is_synchronised
from ..threads.linked import linked
from .runtime import ALIASED, NAMES, UNWRITTEN, Fault, Trap
from .sites import Overflow, Sited
from .text import CheckedStatements

CACHE = 4096
"""Number of checked programs that are kept."""

SMALL = 20_000
"""Steps for one call in a check: enough for all loops over small tensors, in about 50 ms."""


def sanitize(
    func: tirx.PrimFunc,
    args: Sequence[Any],
    budget: int = STEPS,
    outputs: Collection[int] = (),
    *,
    overflow: bool = False,
    module: tvm.IRModule | None = None,
    synchronised: bool | str | None = None,
    placed: bool = True,
) -> Fault | None:
    """The first fault of a PrimFunc on these arguments, which are not changed.

    Args:
        budget: loads, stores and iterations that may be made.
        outputs: positions of the parameters that hold no values at first.
        overflow: overflow of an int32 or int64 is also a fault in values, not only in indices.
        module: the module with the kernels that the PrimFunc launches.
        synchronised: True if ThreadSync has put barriers between the statements of kernels, so that
            races are possible; a storage scope limits this to memory of that scope. The default is
            True if there is a barrier, or if the kernels are split from the host.
        placed: True if allocations are at their final places. If not, parallel iterations cannot
            race for memory that the PrimFunc allocates: PlanAndUpdateBufferAllocationLocation will
            give each its own.

    Raises:
        Mismatch: the arguments do not match the parameters.
        TooLarge: the budget is exceeded.
        Undefined: no memory can hold a view or an allocation.
        Unsupported: something in the PrimFunc is not known.
    """
    whole = func if module is None else linked(func, module)
    if synchronised is None:
        synchronised = whole is not func or is_synchronised(func)
    run = functools.partial(
        checked_run,
        overflow=Overflow.OF_VALUES if overflow else Overflow.OF_INDICES,
        synchronised=synchronised,
        placed=placed,
    )
    return run(whole, args, budget, outputs)[0]


def in_whole_numbers(func: tirx.PrimFunc, args: Sequence[Any], budget: int = STEPS) -> list[Any]:
    """The arguments as the PrimFunc leaves them if no int32 or int64 ever overflows.

    Raises:
        Mismatch, TooLarge, Unsupported: see `sanitize`.
        Undefined: there is a fault, or a dtype cannot hold its result.
    """
    fault, own = checked_run(func, args, budget, overflow=Overflow.NONE)
    if fault is not None:
        raise Undefined(str(fault))
    return own


def wrapped_around(func: tirx.PrimFunc, args: Sequence[Any], budget: int = STEPS) -> list[Any]:
    """The arguments as the PrimFunc leaves them if every int32 and int64 wraps around at once.

    Raises:
        Mismatch, TooLarge, Unsupported: see `sanitize`.
        Undefined: there is a fault.
    """
    fault, own = checked_run(func, args, budget, overflow=Overflow.WRAPS)
    if fault is not None:
        raise Undefined(str(fault))
    return own


def checked_run(
    func: tirx.PrimFunc,
    args: Sequence[Any],
    budget: int = STEPS,
    outputs: Collection[int] = (),
    *,
    overflow: Overflow = Overflow.OF_INDICES,
    synchronised: bool | str = False,
    placed: bool = True,
) -> tuple[Fault | None, list[Any]]:
    """The result of `sanitize`, and the arguments as the PrimFunc leaves them."""
    if len(args) != len(func.params):
        raise Mismatch(f"Expected {len(func.params)} arguments but got {len(args)}")
    mode = Mode(frozenset(outputs), overflow, synchronised, placed)
    program = _program(tvm_ffi.StructuralKey(func), mode)
    aliased = _aliased(func, args, program.writes)
    if aliased is not None:
        return aliased, list(args)
    own = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    program.marks.clear()
    with np.errstate(all="ignore"):
        try:
            program.run(budget, *own)
        except Trap as found:
            return _fault(func, mode, found), own
        except OverflowError as error:
            raise Undefined(f"an integer that its dtype cannot hold: {error}") from error
        except MemoryError as error:
            raise TooLarge(f"memory: {error}") from error
    return _left(func, program.marks), own


class Mode(NamedTuple):
    """The choice of checks; its fields are arguments of `sanitize`."""

    outputs: frozenset[int]
    overflow: Overflow
    synchronised: bool | str
    placed: bool

    def writer(self, func: tirx.PrimFunc) -> Sited:
        """The writer of the checked text of a PrimFunc."""
        if is_device_code(func):
            return CheckedThreads(
                self.outputs, synchronised=self.synchronised, overflow=self.overflow
            )
        return CheckedStatements(
            LoopPlan(func), self.outputs, overflow=self.overflow, placed=self.placed
        )


class _Program:
    """The checked text of a PrimFunc, compiled."""

    def __init__(self, func: tirx.PrimFunc, mode: Mode) -> None:
        writer = mode.writer(func)
        self.text = writer.function(func)
        self.writes = [i for i, p in enumerate(func.params) if p.__chandle__() in writer.writes]
        self.marks: dict[int, np.ndarray[Any, Any]] = {}
        """Marks of the elements of the outputs that the last run has written, by position."""
        space = {**NAMES, **GRID, **CHECKS, "marks": self.marks}
        exec(compile(self.text, "<checked TensorIR>", "exec"), space)
        self.run: Callable[..., Any] = space["program"]


@functools.lru_cache(CACHE)
def _program(key: tvm_ffi.StructuralKey, mode: Mode) -> _Program:
    return _Program(key.key, mode)


def _aliased(func: tirx.PrimFunc, args: Sequence[Any], writes: Sequence[int]) -> Fault | None:
    """The fault of a parameter that is written and shares memory with another.

    Raises:
        Unsupported: the PrimFunc does not rule it out.
    """
    for i in writes:
        for j, other in enumerate(args):
            if i == j or not isinstance(other, np.ndarray):
                continue
            if not np.may_share_memory(args[i], other):
                continue
            one, two = str(func.params[i].name), str(func.params[j].name)
            if func.attrs is None or not func.attrs.get("tirx.noalias"):
                raise Unsupported(f"parameters {one} and {two} that share memory")
            text = f"{one} is written and shares memory with {two}"
            return Fault(ALIASED, one, (), args[i].shape, text)
    return None


def _left(func: tirx.PrimFunc, marks: Mapping[int, np.ndarray[Any, Any]]) -> Fault | None:
    """The fault of an output with an element that was never written."""
    for position, written in marks.items():
        if not written.all():
            param = func.params[position]
            # In a vector, the scalar's index follows; the scalars of a vector are written together.
            left = np.unique(np.argwhere(~written)[:, : len(param.ty.shape)], axis=0)
            index, name = tuple(map(int, left[0])), str(param.name)
            text = f"{name} has {len(left)} elements that are never written"
            return Fault(UNWRITTEN, name, index, written.shape[: len(index)], text)
    return None


def _fault(func: tirx.PrimFunc, mode: Mode, found: Trap) -> Fault:
    """The fault with the names of this very PrimFunc, since equal ones may have other names."""
    writer = mode.writer(func)
    writer.function(func)
    site = writer.sites[found.site]
    return Fault(found.kind, site.buffer, found.index, found.shape, _printed(site.node))


def _printed(node: Any) -> str:
    """A statement in one line, without the declarations at the start of its text."""
    return str(node).strip().splitlines()[-1].strip()
