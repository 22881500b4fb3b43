"""Operators on the device of a tensor: hints for RealizeVDevice, copies to a virtual device."""

from __future__ import annotations

import tvm
from tvm import relax

from ...compat import ir
from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from .record import ALL, Op

__all__ = ["OPS"]


def _build_hint(c: Choices, s: Scope) -> relax.Expr:
    return relax_op.hint_on_device(s.tensor(c, dtype=ALL).expr, tvm.cpu(c.below(2)), "global")


def _build_to_vdevice(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL)
    if not s.module.vdevices:
        s.module.vdevices.append(ir.VDevice("llvm", 0, "global"))
    return relax_op.to_vdevice(x.expr, c.pick(s.module.vdevices))


OPS = (
    Op(
        name="hint_on_device",
        build=_build_hint,
        reference=lambda args, attrs: args[0],
        dtypes=ALL,
        nonfinite=True,
        legalizes=False,
        lowered_by="RealizeVDevice",
        needs=Trait.VDEVICES,
        executes=False,
    ),
    Op(
        name="to_vdevice",
        build=_build_to_vdevice,
        reference=lambda args, attrs: args[0],
        dtypes=ALL,
        nonfinite=True,
        legalizes=False,
        lowered_by="LowerRuntimeBuiltin",
        needs=Trait.VDEVICES,
    ),
)
