"""What explains that a device does something else, besides wrong code: chance, or a pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
from tvm import tirx

from ...generators.prim_funcs.kernels import TARGETS
from ...generators.stages import Stage, between, pass_of, step, steps
from ..errors import Mismatch, Undefined, Unsupported
from ..execute.device import CPU
from ..tensorir import SMALL, sanitize
from ..values.expectation import Expectation
from ..violation import Journal, silent


def explained(kind: str, e: Expectation, mod: tvm.IRModule, journal: Journal = silent) -> bool:
    """The PrimFunc itself is faulty, or a pass of `tirx.build` is; each has checks of its own.

    Args:
        kind: of the device.
        e: the call that goes wrong there.
        mod: what was built.
    """
    if _faulty(mod[e.function], e.args):
        return True
    for each in _steps(kind):
        journal(each)
        splits = pass_of(each) == "tirx.SplitHostDevice"
        if splits and kind != CPU and _faulty(mod[e.function], e.args, synchronised=True):
            return True
        try:
            mod = step(mod, each)
        except Exception:  # whatever the pass raises, it raises where it is checked, too
            return True
        if _changes(mod, e):
            return True
    return False


def _faulty(func: tirx.PrimFunc, args: list[Any], *, synchronised: bool | None = None) -> bool:
    """It has a race, or another fault, by which its values are left to chance."""
    try:
        return sanitize(func, args, SMALL, synchronised=synchronised) is not None
    except (Unsupported, Mismatch, Undefined):
        return False


def _changes(mod: tvm.IRModule, e: Expectation) -> bool:
    """The call gives something else in this module."""
    try:
        value = Expectation(mod, e.function, e.args, None, e.kind, wraps=True).evaluate()
    except Unsupported:
        return False
    except (Mismatch, Undefined):
        return True
    return e.differs(value) is not None


def _steps(kind: str) -> Iterator[str]:
    """The passes that `tirx.build` runs on all functions before it makes code of some.

    On a CPU, those for the host are among them: there all functions are the host's.
    """
    if kind == CPU:
        lowering = between(Stage.BOUND, Stage.SPLIT)
        packing = between(Stage.PACKED, Stage.HOST_LOWERED)
    else:
        target = dict(TARGETS[kind])
        yield f"tirx.BindTarget(tvm.target.Target({target!r}, host='llvm'))"
        lowering = between(Stage.REDUCTIONS_LOWERED, Stage.DEVICE_SPLIT)
        packing = (Stage.PACKED,)
    yield from (each for stage in (*lowering, *packing) for each in steps(stage))
