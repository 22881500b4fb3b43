"""Passes as an engineer of TVM writes them, with one honest mistake each.

None of them was changed to be found or missed.
"""

from __future__ import annotations

from pathlib import Path

from ..specimen import Family, Specimen

MODULES = {"prim_funcs": "tensorir"}
"""The files whose passes are given other modules than those of Relax."""


def _of(file: str, *passes: tuple[str, Family, str]) -> tuple[Specimen, ...]:
    return tuple(
        Specimen(
            factory=f"{Path(__file__).parent / f'{file}.py'}:{name}",
            family=family,
            fault=fault,
            source="an engineer's pass",
            stages=(),
            modules=MODULES.get(file),
        )
        for name, family, fault in passes
    )


SPECIMENS: tuple[Specimen, ...] = (
    *_of(
        "relax_rewrites",
        (
            "merge_pads",
            Family.VALUES,
            "The padding of a padded tensor is added to it even where the two fill in different "
            "values.",
        ),
        (
            "keepdims_for_expand_dims",
            Family.STRUCTURE,
            "A negative axis of expand_dims is counted from the rank of its operand, not of its "
            "result.",
        ),
        (
            "split_to_slices",
            Family.STRUCTURE,
            "An extent that the number of pieces does not divide gives pieces that are too short.",
        ),
        (
            "drop_abs_of_square",
            Family.VALUES,
            "The square of an integer that overflows is negative, and its abs is dropped all "
            "the same.",
        ),
        (
            "transpose_of_matmul",
            Family.VALUES,
            "The transpose of a product of batches of matrices is taken for that of a single one.",
        ),
        (
            "abs_from_maximum",
            Family.VALUES,
            "The maximum of a tensor and the negative of another one is taken for an absolute "
            "value.",
        ),
        (
            "fold_constant_sums",
            Family.CRASH,
            "The sum of a constant of small integers gets the wider dtype in which NumPy adds up.",
        ),
        (
            "drop_noop_broadcast",
            Family.STRUCTURE,
            "A symbolic dimension of one shape is taken to be equal to any dimension of the other.",
        ),
        (
            "lower_rsqrt",
            Family.CRASH,
            "The one that is divided by a root is float32, whatever the dtype of the root.",
        ),
        (
            "lean_sums_right",
            Family.STATE,
            "The inner sum of a + (b + c) is not looked at again: a second run goes on with it.",
        ),
    ),
    *_of(
        "relax_structure",
        (
            "sink_into_branch",
            Family.STRUCTURE,
            "A value that a later block uses, too, moves into the branch of an If that uses it.",
        ),
        (
            "rebuild_tuples",
            Family.VALUES,
            "A tuple of the first fields of a longer tuple is taken for that one.",
        ),
        (
            "propagate_copies",
            Family.STRUCTURE,
            "A call in which a copy is replaced by its original loses its type arguments.",
        ),
        (
            "inline_bound_constants",
            Family.VALUES,
            "Another variable of the same name as one that is a constant is replaced by it, too.",
        ),
    ),
    *_of(
        "tensorir",
        (
            "flatten_loop_nests",
            Family.VALUES,
            "The outer index is the quotient by the extent of the outer loop, not of the inner "
            "one.",
        ),
        (
            "unroll_tiny_loops",
            Family.STRUCTURE,
            "The copies of the body of a loop define the same variables, each of them again.",
        ),
        (
            "fuse_adjacent_loops",
            Family.VALUES,
            "Two loops become one although the second reads what later iterations of the first "
            "write.",
        ),
    ),
    *_of(
        "prim_funcs",
        (
            "drop_unit_loops",
            Family.VALUES,
            "The variable of a loop of one iteration becomes 0 wherever the loop begins.",
        ),
        (
            "zero_based_loops",
            Family.VALUES,
            "A loop that is moved to begin at 0 loses its step.",
        ),
        (
            "forward_stores",
            Family.VALUES,
            "A stored value that is used instead of a load may itself read what the store "
            "overwrote.",
        ),
    ),
    *_of(
        "module_level",
        (
            "hide_called_kernels",
            Family.STRUCTURE,
            "A kernel that can be called from outside loses its symbol if the module calls it, "
            "too.",
        ),
        (
            "sort_parameters",
            Family.STRUCTURE,
            "Private functions still call functions as before their parameters were sorted.",
        ),
    ),
    *_of(
        "hidden_state",
        (
            "lower_clip",
            Family.STATE,
            "A kernel of clip is kept for its shape and dtype, and used again for other bounds.",
        ),
        (
            "note_profile_ids",
            Family.STATE,
            "The number under which a function is profiled is random.",
        ),
    ),
)
