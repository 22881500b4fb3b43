"""Functions of the module that are defined outside of it: GlobalVars that stand for ExternFuncs."""

from __future__ import annotations

from tvm import relax

from ..bindings.externs import COPY, UNKNOWN
from ..choices import Choices
from ..module_scope import ModuleScope
from ..scope import DEFAULT_DTYPE


def outside(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """One or two ExternFuncs. Some have their own type, pure or not, others a generic one.

    A module may call them, or only contain them, like a module that links with other code.
    """
    made = []
    for _ in range(1 + c.flag(0.3)):
        ty = relax.TensorType((c.pick((2, 3)), 3), DEFAULT_DTYPE)
        kind = c.below(4)
        if kind == 2:
            func = relax.ExternFunc(COPY, relax.FuncType([ty], ty, c.flag(0.7)))
        else:
            func = relax.ExternFunc(UNKNOWN if kind == 3 else COPY)
        made.append(module.add("outside", func))
    return made
