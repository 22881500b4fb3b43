"""Features that the drill takes away from TVM, and adds to it: a sample of all that is used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Case:
    """A change of TVM."""

    name: str
    changes: tuple[str, ...]
    """Lines of RELAXFUZZ_DRIFT."""
    missed: tuple[str, ...]
    """What must be named."""
    vital: bool = False
    """Perhaps nothing can do without it: one sentence that names it, and exit code 2, is right."""
    faulty: tuple[str, ...] = ()
    """New passes of which a fault must be found."""

    def __str__(self) -> str:
        return self.name


_OP, _PASS = "tvm.relax.op", "tvm.relax.transform"

CASES = (
    Case(
        "ten operators: without a function, without one in TVM's library, not registered",
        (
            f"remove {_OP}.trunc",
            f"remove {_OP}.memory.ensure_zero_offset",
            f"remove {_OP}.one_hot",
            f"remove {_OP}.argmin",
            f"remove {_OP}.power",
            f"remove {_OP}.nn.pad",
            f"remove {_OP}.repeat",
            f"remove {_OP}.image._ffi_api.resize2d",
            f"remove {_OP}._ffi_api.eye",
            "unregister relax.nn.prelu",
        ),
        (
            *("trunc", "memory.ensure_zero_offset", "one_hot", "argmin", "power", "nn.pad"),
            *("repeat", "image.resize2d", "eye", "nn.prelu"),
        ),
    ),
    Case(
        "five passes: gone, or not to be constructed",
        (
            f"remove {_PASS}.FoldBatchnormToConv2D",
            f"remove {_PASS}.MergeCompositeFunctions",
            f"remove {_PASS}.SpecializePrimFuncBasedOnCallSite",
            f"remove {_PASS}._ffi_api.LazyGetInput",
            f"remove {_PASS}._ffi_api.FoldConstant",
        ),
        (
            *("FoldBatchnormToConv2D", "MergeCompositeFunctions"),
            *("SpecializePrimFuncBasedOnCallSite", "LazyGetInput", "FoldConstant"),
        ),
    ),
    Case(
        "a step to the next stage, a class, a keyword, an operator and passes that are new",
        (
            "remove tvm.s_tir.transform.LowerAutoCopy",
            "rename tvm.ir.prim.expr.GE GEAnew",
            f"keyword {_OP}.concat axis axis_",
            f"add {FOLDER / 'new_op.py'}",
            f"add {FOLDER / 'new_passes.py'}",
        ),
        ("s_tir.LowerAutoCopy", "GE", "concat", "brand_new"),
    ),
    # Whatever reads the field may be off for another reason, if more is gone.
    Case(
        "a field alone",
        ("remove tvm.tirx.buffer.BufferType.layout",),
        (".layout",),
        vital=True,
    ),
)
