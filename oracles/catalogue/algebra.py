"""Contracts of the passes that rewrite expressions by algebraic laws, matmuls above all."""

from __future__ import annotations

from collections import Counter

import tvm
import tvm_ffi
from tvm import relax

from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import NormalForm, PassContract, Relation, Sought
from ..inspect import attr, bindings_of, calls_of, relax_functions
from ..passcall import PassCall
from .common import REWRITER, REWRITING, all_of, any_of, no_ops, one_of

OPERATORS = (Stage.RAW,)
"""The stage in which modules still call operators."""

NOTHING_COMBINED = "CombineParallelMatmul(check=lambda *_: False)"


SLOW = frozenset(f"relax.{op}" for op in ("exp", "erf", "tanh", "nn.softmax"))
"""The operators that have a fast counterpart."""


def _several_matmuls(mod: tvm.IRModule) -> bool:
    return len(calls_of(mod, "relax.matmul")) > 1


def _parallel_matmuls(mod: tvm.IRModule) -> bool:
    operands = Counter(call.args[0] for call in calls_of(mod, "relax.matmul"))
    return any(count > 1 for count in operands.values())


def _filtered(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: `check` filters out unwanted branches; combined ones share a concatenated RHS."""
    if call.expr == NOTHING_COMBINED and _concatenations(before) < _concatenations(after):
        return "matmuls were combined although check refuses all"
    return None


def _concatenations(mod: tvm.IRModule) -> int:
    return len(calls_of(mod, "relax.concat"))


def _no_redundant_reshape(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: a reshape to the shape that the tensor has anyway is removed."""
    for _, func in relax_functions(after):
        if attr(func, "Primitive"):
            continue
        for binding in bindings_of(func):
            for reshape in calls_of(binding.value, "relax.reshape"):
                tensor, shape = reshape.args
                if isinstance(tensor.ty, relax.TensorType) and tvm_ffi.structural_equal(
                    tensor.ty.shape, shape
                ):
                    return "a reshape to the same shape is left"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="AdjustMatmulOrder",
        stages=OPERATORS,
        looks_for=Sought(_several_matmuls, ("matmul",), (("matmul", "matmul"),)),
        inside=REWRITING,
        shares=REWRITER,
    ),
    PassContract(
        name="ExpandMatmulOfSum",
        stages=OPERATORS,
        looks_for=all_of("relax.add", "relax.matmul"),
        inside=REWRITING,
        shares=REWRITER,
    ),
    PassContract(
        name="ReorderPermuteDimsAfterConcat",
        stages=OPERATORS,
        inside=REWRITING,
        shares=REWRITER,
        looks_for=all_of("relax.permute_dims", "relax.concat"),
    ),
    PassContract(
        name="ReorderTakeAfterMatmul",
        stages=OPERATORS,
        inside=REWRITING,
        shares=REWRITER,
        looks_for=all_of("relax.take", "relax.matmul"),
    ),
    PassContract(
        name="CombineParallelMatmul",
        variants=one_of(
            "CombineParallelMatmul()",
            "CombineParallelMatmul()",
            "CombineParallelMatmul(check=lambda x, rhs, bias, bindings: len(rhs) > 2)",
            NOTHING_COMBINED,
        ),
        stages=OPERATORS,
        looks_for=Sought(_parallel_matmuls, ("matmul",)),
        post=_filtered,
        inside=REWRITING,
        shares=REWRITER,
    ),
    PassContract(
        name="RemoveRedundantReshape",
        stages=OPERATORS,
        looks_for=any_of("relax.reshape"),
        post=_no_redundant_reshape,
        normal_form=NormalForm("docstring: 'remove redundant reshape operator'"),
        inside=REWRITING,
        shares=REWRITER,
    ),
    PassContract(
        name="FoldBatchnormToConv2D",
        stages=OPERATORS,
        looks_for=all_of(
            "relax.nn.conv2d",
            "relax.nn.batch_norm",
            traits=[Trait.BOUND_PARAMS, Trait.TUPLES],
        ),
        inside=REWRITING,
        shares=REWRITER,
    ),
    PassContract(
        name="FastMathTransform",
        stages=OPERATORS,
        looks_for=any_of(*SLOW),
        relation=Relation.LOOSE,
        post=no_ops(*SLOW),
        normal_form=NormalForm(
            "docstring: 'convert the expensive non linear functions to their fast but approximate "
            "counterparts'"
        ),
    ),
)
