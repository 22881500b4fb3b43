"""Names that passes give to new functions and variables; a module may use them already."""

from __future__ import annotations

from .choices import Choices
from .module_scope import ModuleScope

FUNCTIONS = (
    "main_1",
    "lifted_func_0",
    "fused_add",
    "main_transform_params",
    "main_adjoint",
    "fused_relax_add_cutlass",
    "transform_params",
    "subgraph_0",
)
KERNELS = ("add", "tir_reshape", "fused_add", "main_1", "relu", "shape_func", "add_inplace")
"""Names of Relax functions and PrimFuncs after LambdaLift, FuseOps, Gradient and others."""

_FUNCTIONS = ("func", "layer", "results", "step", "wide", "composite")
_KERNELS = ("tir_add_one", "tir_square", "tir_sum", "tir_two_steps", "tir_inplace")


def rename(c: Choices, module: ModuleScope) -> None:
    """Choose these names for some functions of the module to come, and a scheme for its variables.

    Each name is used at most once, so it stands for functions of one kind.
    """
    module.one_name = c.flag(0.3)
    naming: dict[str, str] = {}
    for plain, names in ((_FUNCTIONS, FUNCTIONS), (_KERNELS, KERNELS)):
        for name in plain:
            given = c.pick(names)
            if given not in naming.values():
                naming[name] = given
    module.naming = naming
