"""Causes other than wrong code for a different result on a device: chance, or a pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
from tvm import tirx

from ...generators.prim_funcs.kernels import TARGETS
from ...generators.stages import Stage, between, pass_of, pass_to, step, steps
from ..errors import Mismatch, Undefined, Unsupported
from ..execute.device import ON_CPU
from ..expected.expectation import Expectation
from ..tensorir import SMALL, sanitize
from ..violation import StepJournal, silent


def explained(kind: str, e: Expectation, mod: tvm.IRModule, journal: StepJournal = silent) -> bool:
    """True if the PrimFunc itself or a pass of `tirx.build` is faulty; each has checks of its own.

    Args:
        kind: the kind of the device.
        e: the call that goes wrong there.
        mod: the module that was built.
    """
    if _faulty(mod[e.function], e.args):
        return True
    for each in _steps(kind):
        journal(each)
        splits = pass_of(each) == pass_to(Stage.SPLIT)
        if splits and kind not in ON_CPU and _faulty(mod[e.function], e.args, synchronised=True):
            return True
        try:
            mod = step(mod, each)
        except Exception:  # a pass that raises also raises in its own check
            return True
        if _changes(mod, e):
            return True
    return False


def _faulty(func: tirx.PrimFunc, args: list[Any], *, synchronised: bool | None = None) -> bool:
    """True if it has a race, or another fault that makes its values random."""
    try:
        return sanitize(func, args, SMALL, synchronised=synchronised) is not None
    except (Unsupported, Mismatch, Undefined):
        return False


def _changes(mod: tvm.IRModule, e: Expectation) -> bool:
    """True if the call has a different result in this module."""
    try:
        value = Expectation(mod, e.function, e.args, None, e.kind, wraps=True).evaluate()
    except Unsupported:
        return False
    except (Mismatch, Undefined):
        return True
    return e.differs(value) is not None


def _steps(kind: str) -> Iterator[str]:
    """The passes that `tirx.build` runs on all functions before it generates code for some.

    On a CPU they include the passes for the host, to which all functions belong.
    """
    if kind in ON_CPU:
        lowering = between(Stage.BOUND, Stage.SPLIT)
        packing = between(Stage.PACKED, Stage.HOST_LOWERED)
    else:
        target = dict(TARGETS[kind])
        yield f"tirx.BindTarget(tvm.target.Target({target!r}, host='llvm'))"
        lowering = between(Stage.REDUCTIONS_LOWERED, Stage.DEVICE_SPLIT)
        packing = (Stage.PACKED,)
    yield from (each for stage in (*lowering, *packing) for each in steps(stage))
