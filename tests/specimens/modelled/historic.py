"""Faults for which relaxfuzz was made: right passes with what went wrong in those of TVM.

LiftTransformParams and MergeCompositeFunctions are not among them: in each supported release TVM's
own pass has the fault.
"""

from __future__ import annotations

import tvm

from relaxfuzz.oracles.reference.realize_vdevice import realize_vdevice

from ..specimen import Family, Specimen, of
from .attach_global_symbol import attach_global_symbol
from .legalize_ops import legalize_ops


def attach_leaves_global_vars() -> tvm.transform.Pass:
    """See its record."""
    return attach_global_symbol(leaves_global_vars=True)


def legalize_skips_in_silence() -> tvm.transform.Pass:
    """See its record."""
    return legalize_ops(skips_in_silence=True)


def realize_mutates_input() -> tvm.transform.Pass:
    """See its record."""
    return realize_vdevice(mutates_input=True)


SPECIMENS = (
    Specimen(
        factory=of(attach_leaves_global_vars),
        family=Family.STRUCTURE,
        fault="With system_lib_prefix, a PrimFunc gets the prefixed global_symbol, but its "
        "GlobalVar keeps the name: the virtual machine looks for a function that is not there.",
        source="apache/tvm#17176: Cannot find PackedFunc tir_zeros",
        like="AttachGlobalSymbol",
        stages=(),
        needs=("system-lib-prefix", "call-tir"),
    ),
    Specimen(
        factory=of(legalize_skips_in_silence),
        family=Family.STRUCTURE,
        fault="An operator without a legalization, or with unknown shape or dtype, is left in "
        "silence; code generation fails on it much later.",
        source="apache/tvm#17175: CodeGenVM cannot handle this intrinsic tensor_to_shape",
        like="LegalizeOps",
        stages=(),
    ),
    Specimen(
        factory=of(realize_mutates_input),
        family=Family.MUTATION,
        fault="The first step changes types in the input module in place: a second run on the same "
        "module leaves hint_on_device.",
        source="apache/tvm#17205: cannot remove the hint_on_device",
        like="RealizeVDevice",
        stages=(),
    ),
    Specimen(
        factory=of(legalize_ops),
        family=Family.CORRECT,
        fault="Refuses modules with a call that no later pass lowers. Its kernels are TVM's "
        "own, with their faults, so what they compute, and of which type, is not asked.",
        source="a second implementation of LegalizeOps",
        like="LegalizeOps",
        stages=(),
        exempt=("sanitized", "signature", "values"),
    ),
    *(
        Specimen(
            factory=of(make),
            family=Family.CORRECT,
            fault=fault,
            source=f"a second implementation of {like}",
            like=like,
            stages=(),
        )
        for make, like, fault in (
            (
                attach_global_symbol,
                "AttachGlobalSymbol",
                "Renames public and private functions, and all that refers to them.",
            ),
            (realize_vdevice, "RealizeVDevice", "Retypes variables of all functions."),
        )
    ),
)
