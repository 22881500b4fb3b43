"""The reductions in the order in which they are tried."""

from __future__ import annotations

from .attributes import (
    default_attributes,
    drop_attributes,
    make_private,
    make_pure,
    plain_constants,
)
from .bindings import (
    drop_bindings,
    drop_dead,
    drop_many_bindings,
    merge_params,
    shorten_chains,
    take_shortcuts,
    use_earlier,
)
from .blocks import flatten_branches, plain_blocks, return_less, settle_conditions, shorten_branches
from .functions import (
    drop_functions,
    inline_functions,
    inline_local_functions,
    keep_one_function,
    lift_local_functions,
)
from .kernels_blocks import drop_axes, plain_kernels, shrink_extents
from .kernels_bodies import (
    drop_definitions,
    drop_statements,
    merge_all_kernels,
    merge_kernels,
    most_bodies_trivial,
    simplify_expressions,
    trivial_bodies,
    unwrap,
    zero_values,
)
from .kernels_buffers import (
    drop_buffers,
    drop_kernel_params,
    plain_buffers,
    shrink_buffers,
    static_kernels,
)
from .names import plain_names, unshare
from .reduction import Reduction
from .shapes import plain_dims, plain_params, shrink_dims, static_dims
from .signatures import drop_params, drop_result_fields, drop_tuple_fields, split_tuples
from .types import drop_devices, infer_annotations, known_types, plain_dtypes

REDUCTIONS: tuple[Reduction, ...] = (
    # Whole functions first: every later reduction costs as much as the functions that are left.
    keep_one_function,
    drop_functions,
    # Most bugs are in Relax functions: a few tries, and no PrimFunc costs anything any more.
    most_bodies_trivial,
    merge_all_kernels,
    # An earlier result makes all that follows it dead, so it goes before single bindings.
    return_less,
    drop_dead,
    # Of a thousand bindings most have nothing to do with it, wherever they stand.
    drop_many_bindings,
    # Fewer bindings are visible from inside of a branch, or of a function that is called.
    flatten_branches,
    inline_functions,
    inline_local_functions,
    lift_local_functions,
    drop_bindings,
    # These change types, or leave less to choose from, so they wait for the plain ones.
    shorten_chains,
    take_shortcuts,
    shorten_branches,
    settle_conditions,
    merge_params,
    # One try for each use, so late.
    use_earlier,
    drop_tuple_fields,
    plain_blocks,
    # Few tries each, and what is left is faster to try: signatures, then dimensions and types.
    drop_params,
    split_tuples,
    drop_result_fields,
    drop_attributes,
    static_dims,
    plain_dims,
    shrink_dims,
    drop_devices,
    plain_dtypes,
    known_types,
    infer_annotations,
    # The PrimFuncs that are left by now have something to do with it, most of them.
    trivial_bodies,
    merge_kernels,
    drop_kernel_params,
    static_kernels,
    drop_statements,
    drop_buffers,
    drop_definitions,
    unwrap,
    zero_values,
    # What costs one try for each expression waits until there are few.
    shrink_extents,
    plain_kernels,
    drop_axes,
    plain_buffers,
    shrink_buffers,
    simplify_expressions,
    # No smaller, but plainer; each of many small things is a try.
    plain_params,
    default_attributes,
    plain_constants,
    make_pure,
    make_private,
    unshare,
    # Names last: options of a pass may refer to them, and they show where things come from.
    plain_names,
)
