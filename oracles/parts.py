"""Which passes of TVM are made of others: a bug of the part is one of the whole, too."""

from __future__ import annotations

import functools
from collections.abc import Mapping

_CLEANING = ("CanonicalizeBindings", "DeadCodeElimination")
_REWRITING = ("CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination")

PARTS: Mapping[str, tuple[str, ...]] = {
    # src/relax/transform/*.cc: Sequential([...]), or calls of the functions behind the passes.
    "AttachAttrLayoutFreeBuffers": ("DeadCodeElimination",),
    "ConvertToDataflow": ("CanonicalizeBindings",),
    "ExpandTupleArguments": _CLEANING,
    "FoldConstant": ("LegalizeOps", "DeadCodeElimination"),
    "FuseTIR": ("ExpandTupleArguments", "RemoveUnusedParameters", "DeadCodeElimination"),
    "Gradient": ("DeadCodeElimination",),
    "InlinePrivateFunctions": _CLEANING,
    "KillAfterLastUse": ("CanonicalizeBindings",),
    "LazyTransformParams": ("EliminateCommonSubexpr", "DeadCodeElimination"),
    "LegalizeOps": ("DeadCodeElimination",),
    "LiftTransformParams": _CLEANING,
    "MergeCompositeFunctions": ("DeadCodeElimination",),
    "RemoveUnusedOutputs": _CLEANING,
    "RemoveUnusedParameters": ("DeadCodeElimination",),
    "RunCodegen": ("DeadCodeElimination",),
    "SplitLayoutRewritePreproc": ("DeadCodeElimination",),
    # src/relax/ir/dataflow_expr_rewriter.cc: what rewrites calls by patterns cleans up after it.
    "AdjustMatmulOrder": _REWRITING,
    "ExpandMatmulOfSum": _REWRITING,
    "FoldBatchnormToConv2D": _REWRITING,
    "OptimizeLayoutTransform": _REWRITING,
    "RemoveRedundantReshape": _REWRITING,
    "ReorderPermuteDimsAfterConcat": _REWRITING,
    "ReorderTakeAfterMatmul": _REWRITING,
}
"""The passes that run inside a pass, as far as they are passes of their own without arguments.

Read in the sources of TVM 0.27. An entry by mistake merges nothing: the pass inside has to show the
same violation on the very same module.
"""


@functools.cache
def parts(pass_name: str) -> frozenset[str]:
    """All that runs inside a pass, at whatever depth."""
    direct = PARTS.get(pass_name, ())
    return frozenset(direct).union(*(parts(name) for name in direct))
