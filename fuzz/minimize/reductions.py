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
    neutral,
    shapes,
    signatures,
    types,
)
from .reduction import Reduction

REDUCTIONS: tuple[Reduction, ...] = (
    # Whole functions first: the cost of every later reduction depends on the remaining functions.
    functions.drop_functions,
    functions.publish_one_function,
    # Most bugs are in Relax functions: after a few tries, PrimFuncs cost nothing any more.
    kernels_bodies.most_bodies_trivial,
    # An earlier result makes everything after it dead, so this goes before single bindings.
    blocks.return_less,
    bindings.drop_dead,
    # Most of a thousand bindings are irrelevant, wherever they are.
    bindings.drop_many_bindings,
    # Fewer bindings are visible inside of a branch, or of a called function.
    blocks.flatten_branches,
    bindings.drop_bindings,
    # These change types or leave fewer choices, so they come after the plain ones.
    bindings.shorten_chains,
    blocks.shorten_branches,
    bindings.merge_params,
    # One try for each use, so late.
    signatures.drop_tuple_fields,
    blocks.plain_blocks,
    # Few tries each, and they speed up later ones: signatures, then dimensions and types.
    signatures.drop_params,
    signatures.split_tuples,
    attributes.drop_attributes,
    shapes.static_dims,
    shapes.shrink_dims,
    types.drop_devices,
    types.plain_dtypes,
    types.known_types,
    # Kernels that are no longer called need not be reduced.
    calls.opaque_calls,
    # Most of the remaining PrimFuncs are relevant by now.
    kernels_buffers.drop_kernel_params,
    kernels_bodies.drop_statements,
    kernels_buffers.drop_buffers,
    kernels_bodies.drop_definitions,
    kernels_bodies.unwrap,
    kernels_bodies.zero_values,
    # Reductions with one try for each expression wait until few expressions are left.
    kernels_blocks.shrink_extents,
    kernels_blocks.plain_kernels,
    kernels_blocks.drop_axes,
    kernels_buffers.plain_buffers,
    kernels_buffers.shrink_buffers,
    kernels_bodies.simplify_expressions,
    # These make a module plainer, not smaller, with one try for each of many small things.
    calls.plain_operators,
    shapes.plain_params,
    attributes.default_attributes,
    attributes.plain_constants,
    attributes.make_pure,
    attributes.make_private,
    names.unshare,
    # Names last: options of a pass may refer to them, and they show the origin of things.
    names.plain_names,
    # People read a script, so it is tried on the result of all the others.
    names.as_scripted,
)

REDACTIONS: tuple[Reduction, ...] = (neutral.neutral_strings, neutral.neutral_constants)
"""Those that make a module fit for sharing; see `redacted`."""
