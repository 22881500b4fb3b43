"""The reductions in the order in which they are tried."""

from __future__ import annotations

from . import (
    attributes,
    bindings,
    blocks,
    calls,
    functions,
    kernels_blocks,
    kernels_bodies,
    kernels_buffers,
    names,
    shapes,
    signatures,
    types,
)
from .reduction import Reduction

REDUCTIONS: tuple[Reduction, ...] = (
    # Whole functions first: every later reduction costs as much as the functions that are left.
    functions.keep_one_function,
    functions.drop_functions,
    # Most bugs are in Relax functions: a few tries, and no PrimFunc costs anything any more.
    kernels_bodies.most_bodies_trivial,
    kernels_bodies.merge_all_kernels,
    # An earlier result makes all that follows it dead, so it goes before single bindings.
    blocks.return_less,
    bindings.drop_dead,
    # Of a thousand bindings most have nothing to do with it, wherever they stand.
    bindings.drop_many_bindings,
    # Fewer bindings are visible from inside of a branch, or of a function that is called.
    blocks.flatten_branches,
    functions.inline_functions,
    functions.inline_local_functions,
    functions.lift_local_functions,
    bindings.drop_bindings,
    # These change types, or leave less to choose from, so they wait for the plain ones.
    bindings.shorten_chains,
    bindings.take_shortcuts,
    blocks.shorten_branches,
    blocks.settle_conditions,
    bindings.merge_params,
    # One try for each use, so late.
    bindings.use_earlier,
    signatures.drop_tuple_fields,
    blocks.plain_blocks,
    # Few tries each, and what is left is faster to try: signatures, then dimensions and types.
    signatures.drop_params,
    signatures.split_tuples,
    signatures.drop_result_fields,
    attributes.drop_attributes,
    shapes.static_dims,
    shapes.plain_dims,
    shapes.shrink_dims,
    types.drop_devices,
    types.plain_dtypes,
    types.known_types,
    signatures.bind_numbers,
    types.tensor_params,
    types.infer_annotations,
    # No kernel has to be reduced that nobody calls any more.
    calls.opaque_calls,
    # The PrimFuncs that are left by now have something to do with it, most of them.
    kernels_bodies.trivial_bodies,
    kernels_bodies.merge_kernels,
    kernels_buffers.drop_kernel_params,
    kernels_buffers.static_kernels,
    kernels_bodies.drop_statements,
    kernels_buffers.drop_buffers,
    kernels_bodies.drop_definitions,
    kernels_bodies.unwrap,
    kernels_bodies.zero_values,
    # What costs one try for each expression waits until there are few.
    kernels_blocks.shrink_extents,
    kernels_blocks.plain_kernels,
    kernels_blocks.drop_axes,
    kernels_buffers.plain_buffers,
    kernels_buffers.shrink_buffers,
    kernels_bodies.simplify_expressions,
    # No smaller, but plainer; each of many small things is a try.
    calls.without_gradients,
    calls.plain_operators,
    shapes.plain_params,
    attributes.default_attributes,
    attributes.plain_constants,
    attributes.make_pure,
    attributes.make_private,
    names.unshare,
    # Names last: options of a pass may refer to them, and they show where things come from.
    names.plain_names,
    # What people read is a script: it is tried on what all the others have left.
    names.as_scripted,
)
