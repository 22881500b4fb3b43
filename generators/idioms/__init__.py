"""Patterns of a few bindings that passes look for and that random operators seldom form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...compat import availability
from ..choices import Choices
from ..scope import Scope
from . import arithmetic, movement, products

IDIOMS: tuple[Callable[[Choices, Scope], None], ...] = (
    arithmetic.chain,
    movement.reshapes,
    arithmetic.common_subexpressions,
    arithmetic.scaled,
    movement.there_and_back,
    arithmetic.casts,
    movement.reshapes_alike,
    movement.filled,
    arithmetic.bounded,
    movement.neighbouring_slices,
    movement.permuted_along_an_axis,
    arithmetic.reductions,
    movement.view_and_origin,
    movement.read_by_other_names,
    arithmetic.fields_apart,
    arithmetic.constant_expression,
    products.matmul_chain,
    products.parallel_matmul,
    products.matmul_of_sum,
    products.transposed_matmul,
    products.take_after_matmul,
    movement.concat_of_transposes,
    movement.split_and_concat,
    products.conv_bias_relu,
    products.conv_batch_norm,
    products.attention_like,
    products.weight_transform,
    movement.layout_transforms,
    arithmetic.elementwise_math,
    products.batched_matmul,
    arithmetic.reduced,
)
"""All idioms, the simplest first."""


def usable() -> Sequence[Callable[[Choices, Scope], None]]:
    """The idioms that work on the installed TVM."""
    off = availability.current().idioms
    return [idiom for idiom in IDIOMS if idiom.__name__ not in off] if off else IDIOMS
