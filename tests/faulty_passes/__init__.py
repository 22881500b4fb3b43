"""Thirty passes as an engineer of TVM writes them, with one honest mistake each.

None of them was changed to be found or missed. `python -m tests.faulty_passes.measure` runs
`relaxfuzz run` on them and counts the rows in which it reports each mistake, which should be one.
"""

from __future__ import annotations

FAULTY: tuple[str, ...] = (
    "relax_rewrites.py:merge_pads",
    "relax_rewrites.py:keepdims_for_expand_dims",
    "relax_rewrites.py:split_to_slices",
    "relax_rewrites.py:drop_abs_of_square",
    "relax_rewrites.py:transpose_of_matmul",
    "relax_rewrites.py:abs_from_maximum",
    "relax_rewrites.py:fold_constant_sums",
    "relax_rewrites.py:drop_noop_broadcast",
    "relax_rewrites.py:lower_rsqrt",
    "relax_rewrites.py:lean_sums_right",
    "relax_structure.py:demote_outputs",
    "relax_structure.py:sink_into_branch",
    "relax_structure.py:rebuild_tuples",
    "relax_structure.py:bind_constants_once",
    "relax_structure.py:propagate_copies",
    "relax_structure.py:inline_bound_constants",
    "relax_functions.py:share_calls_of_functions",
    "relax_functions.py:link_helpers",
    "tensorir.py:flatten_loop_nests",
    "tensorir.py:unroll_tiny_loops",
    "tensorir.py:fuse_adjacent_loops",
    "prim_funcs.py:drop_unit_loops",
    "prim_funcs.py:zero_based_loops",
    "prim_funcs.py:forward_stores",
    "module_level.py:hide_called_kernels",
    "module_level.py:strip_annotations",
    "module_level.py:sort_parameters",
    "hidden_state.py:lower_clip",
    "hidden_state.py:outline_by_hash",
    "hidden_state.py:note_profile_ids",
)
"""File in this folder, and the factory in it."""

FAMILIES: dict[str, str] = {"prim_funcs.py": "tensorir"}
"""The files whose passes are given other modules than those of Relax."""
