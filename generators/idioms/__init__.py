"""Patterns of a few bindings that passes look for and that random operators seldom form."""

from __future__ import annotations

from collections.abc import Callable

from ..choices import Choices
from ..scope import Scope
from .arithmetic import (
    bounded,
    casts,
    chain,
    common_subexpressions,
    constant_expression,
    elementwise_math,
    fields_apart,
    reduced,
    reductions,
    scaled,
)
from .movement import (
    concat_of_transposes,
    filled,
    layout_transforms,
    neighbouring_slices,
    permuted_along_an_axis,
    read_by_other_names,
    reshapes,
    reshapes_alike,
    split_and_concat,
    there_and_back,
    view_and_origin,
)
from .products import (
    attention_like,
    batched_matmul,
    conv_batch_norm,
    conv_bias_relu,
    matmul_chain,
    matmul_of_sum,
    parallel_matmul,
    take_after_matmul,
    transposed_matmul,
    weight_transform,
)

IDIOMS: tuple[Callable[[Choices, Scope], None], ...] = (
    chain,
    reshapes,
    common_subexpressions,
    scaled,
    there_and_back,
    casts,
    reshapes_alike,
    filled,
    bounded,
    neighbouring_slices,
    permuted_along_an_axis,
    reductions,
    view_and_origin,
    read_by_other_names,
    fields_apart,
    constant_expression,
    matmul_chain,
    parallel_matmul,
    matmul_of_sum,
    transposed_matmul,
    take_after_matmul,
    concat_of_transposes,
    split_and_concat,
    conv_bias_relu,
    conv_batch_norm,
    attention_like,
    weight_transform,
    layout_transforms,
    elementwise_math,
    batched_matmul,
    reduced,
)
"""All idioms, the simplest first."""
