"""Operators that have a role besides the value that they compute.

They call other code, belong to lowered modules, or are marks for a pass. Most have no record.
"""

from __future__ import annotations

from collections.abc import Mapping

EMITTED = frozenset(
    {
        "relax.call_builtin_with_ctx",
        "relax.null_value",
        "relax.vm.alloc_storage",
        "relax.vm.alloc_tensor",
        "relax.vm.kill_object",
    }
)
"""The operators for which the virtual machine's code generator emits instructions."""

WITHOUT_RECORD: Mapping[str, tuple[str, ...]] = {
    "DispatchSampling": (),
    "DispatchSortScan": (),
    "RemovePurityChecking": ("call_inplace_packed", "call_pure_packed", "invoke_pure_closure"),
    "CallTIRRewrite": ("call_dps_packed", "call_tir", "call_tir_inplace"),
    "LowerAllocTensor": ("builtin.alloc_tensor",),
    "LowerRuntimeBuiltin": (
        "call_py_func",
        "invoke_closure",
        "make_closure",
        "memory.alloc_storage",
        "memory.alloc_tensor",
        "memory.kill_storage",
        "memory.kill_tensor",
        "vm.call_tir_dyn",
    ),
}
"""Operators without a record, by the pass of TVM's default pipeline that lowers them by name.
LegalizeOps is left out."""

BY_ATTRIBUTE: Mapping[str, str] = {
    "FLegalize": "LegalizeOps",
    "FLowerBuiltin": "LowerRuntimeBuiltin",
}
"""The passes that lower every operator with an attribute."""

BY_SHAPE = ("DispatchSampling", "DispatchSortScan")
"""Passes that replace a call by a PrimFunc, and so must know shape and dtype of its operands."""

ALLOCATES = "CallTIRRewrite"
"""The pass that allocates the result of a call, and so must know its shape and dtype."""

KERNEL = "relax.call_tir"
"""The operator that calls a kernel."""

WITH_GRADIENT = "relax.call_tir_with_grad"
"""The operator that calls a kernel and names the kernel of its gradient."""

IN_PLACE = ("relax.call_tir_inplace", "relax.call_inplace_packed")
"""The operators whose callee writes to its operands."""

OPAQUE = frozenset({KERNEL, WITH_GRADIENT, *IN_PLACE, "relax.call_dps_packed"})
"""Operators that call something opaque: Relax knows only the type of its result."""

PLAINEST = "relax.call_pure_packed"
"""The simplest of them: it has no kernel, and no memory for the result."""

PLAIN = ("relax.negative", "relax.add")
"""Model operators that the minimizer substitutes for others, the simplest first."""

TYPES_GIVEN = frozenset(
    {
        PLAINEST,
        KERNEL,
        *IN_PLACE,
        "relax.call_dps_packed",
        "relax.invoke_closure",
        "relax.invoke_pure_closure",
        "relax.call_py_func",
    }
)
"""Calls whose result type the user writes, since TVM does not infer it."""

REMOVES = (
    "DeadCodeElimination",
    "RealizeVDevice",
    "LambdaLift",
    "DecomposeOpsForInference",
    "LiftTransformParams",
)
"""Passes that remove some calls, and that no pipeline for the CPU runs by itself."""
