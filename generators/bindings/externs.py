"""Calls of what is outside of the module, effects and device hints."""

from __future__ import annotations

import tvm
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from .kind import Callees, Ops


def call_dps_packed(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of an external function that writes into its last argument."""
    x = s.tensor(c)
    s.bind(relax_op.call_dps_packed("external.copy_to", (x.expr,), x.expr.ty))


def call_packed(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A pure call of a packed function of TVM's runtime."""
    x = s.tensor(c)
    s.bind(relax_op.call_pure_packed("vm.builtin.copy", x.expr, ty_args=[x.expr.ty]))


def impure_call(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call with a visible effect; the function around it becomes impure."""
    x = s.tensor(c, complete=False)
    s.pure = False
    if c.flag():
        s.bind(relax.Call(relax.ExternFunc("vm.builtin.copy"), [x.expr], None, [x.expr.ty]))
    else:
        s.bind(relax_op.print(x.expr, format="{}"))


def device_hint(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """`hint_on_device` or `to_vdevice`."""
    x = s.tensor(c)
    if c.flag(0.4):
        s.bind(relax_op.to_vdevice(x.expr, c.pick(s.module.vdevices)))
    else:
        s.bind(relax_op.hint_on_device(x.expr, tvm.cpu(c.below(2)), "global"))
