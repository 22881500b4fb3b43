"""Passes as a user of TVM writes them in the first hour, each with one honest mistake.

They are plain user code, written without regard to what relaxfuzz generates or checks, and none of
them was ever changed to be found or missed. A few are correct.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ..specimen import Family, Specimen

KINDS = {
    "values": Family.VALUES,
    "ill-formed": Family.STRUCTURE,
    "interface": Family.STRUCTURE,
    "mutation": Family.MUTATION,
    "state": Family.STATE,
    "crash": Family.CRASH,
    "correct": Family.CORRECT,
}


def _of(file: str, *passes: tuple[str, str, str]) -> tuple[Specimen, ...]:
    return tuple(
        Specimen(
            factory=f"{Path(__file__).parent / f'passes_{file}.py'}:{name}",
            family=KINDS[kind],
            fault=wrong,
            source="a first draft",
            stages=(),
        )
        for name, kind, wrong in passes
    )


def _pairs(file: str, *passes: tuple[str, str, str]) -> tuple[Specimen, ...]:
    """Faulty passes, each followed by the same one without its mistake."""
    return tuple(specimen for faulty in _of(file, *passes) for specimen in (faulty, _fixed(faulty)))


def _fixed(faulty: Specimen) -> Specimen:
    return dataclasses.replace(
        faulty,
        factory=f"{faulty.factory}_fixed",
        family=Family.CORRECT,
        fault=f"{faulty.name} without its mistake.",
    )


FIRST: tuple[Specimen, ...] = (
    *_of(
        "algebra",
        ("divide_by_reciprocal", "values", "The reciprocal of an integer is 0."),
        ("strength_reduce_power", "values", "An exponent such as 2.5 is rounded down to 2."),
    ),
    *_of(
        "nn",
        ("LowerLeakyRelu", "values", "max(x, alpha x) is wrong for an alpha above 1."),
        ("DropTrivialScans", "values", "An exclusive cumsum over one element is 0."),
    ),
    *_of(
        "fusion",
        ("FuseMatmulBias", "values", "b - a @ w becomes a @ w - b."),
        ("concat_of_split", "values", "The pieces may be concatenated in another order."),
        ("FuseAddRelu", "ill-formed", "The sum is removed though another binding uses it."),
    ),
    *_of(
        "cse",
        ("combine_equal_calls", "values", "Calls that differ only in attributes are merged."),
        ("drop_repeated_relu", "crash", "KeyError for a variable that a match_cast binds."),
    ),
    *_of(
        "shapes",
        ("cancel_transposes", "ill-formed", "Equal axes are inverse only if they swap pairs."),
        ("split_big_matmul", "ill-formed", "out_dtype is lost, and with it the type."),
        ("drop_inner_reshape", "correct", "Of two static reshapes only the outer one stays."),
    ),
    *_of(
        "functions",
        (
            "InlinePrivate",
            "ill-formed",
            "A callee that is inlined twice binds variables twice.",
        ),
    ),
)

SECOND: tuple[Specimen, ...] = (
    *_of(
        "second_values",
        ("take_range", "values", "Constant indices such as 0, 2, 1, 3 are no range."),
        ("topk_one_to_max", "values", "topk may be of the smallest elements."),
        ("merge_triangles", "values", "The larger diagonal counts for triu, for tril the smaller."),
        ("scale_after_reduction", "values", "The maximum of -2 x is -2 times the minimum of x."),
        ("constants_right", "correct", "c + x becomes x + c."),
        ("merge_widening_casts", "correct", "A cast after a widening cast begins at its operand."),
    ),
    *_of(
        "second_nn",
        ("PadIntoMaxPool", "values", "A pool pads with the least number, not with 0."),
        ("LowerAttention", "values", "Without a scale, it is 1 / sqrt(dim), not 1."),
        ("ResizeByRepeat", "values", "The corners may be aligned."),
        ("LowerDequantize", "values", "The difference to the zero point overflows in 8 bits."),
        ("EinsumToMatmul", "ill-formed", "The result may be transposed, as in ij,jk->ki."),
        ("UpcastHalf", "crash", "The type of a call may be a tuple, which has no dtype."),
    ),
    *_of(
        "second_structure",
        ("widen_dataflow", "ill-formed", "An If is no call, and not allowed in a dataflow block."),
        ("FlattenIf", "crash", "Branches may result in tuples, which where cannot select."),
        ("forward_tuple_fields", "correct", "(a, b)[1] becomes b."),
    ),
    *_of(
        "second_module",
        ("merge_kernels", "values", "Kernels of one signature may hold different constants."),
        ("power_two_to_square", "crash", "A module may have no main."),
        ("prefix_kernels", "interface", "Public kernels are renamed, too."),
    ),
)
"""Written later than the first ones, and without a look at what relaxfuzz does."""

THIRD: tuple[Specimen, ...] = _of(
    "third",
    ("drop_tile_of_ones", "interface", "More repeats than dimensions add dimensions."),
    ("argsort_by_flip", "values", "Equal elements come in the other order."),
    ("one_hot_by_equal", "interface", "The new axis may be another than the last."),
    ("GlobalPoolAsMean", "ill-formed", "In NHWC the picture is in other axes."),
    ("PointwiseConv", "crash", "With groups, the kernel has fewer channels."),
    ("FlipOfConcat", "values", "Along another axis, the order stays."),
    ("GroupNormOfChannels", "values", "The channels may be in another axis."),
)
"""Of operators and attributes that none of the others looks at."""

FOURTH: tuple[Specimen, ...] = (
    *_pairs(
        "fourth_values",
        (
            "argmax_of_negative",
            "values",
            "Integers wrap: -(-128) is -128, and unsigned ones are not negative.",
        ),
        ("softmax_before_permute", "values", "The axis is sought in the inverse permutation."),
        ("cast_after_reduction", "values", "A sum of narrow integers overflows."),
        ("lower_rms_norm", "values", "Epsilon is always the default."),
        ("lower_likes", "interface", "The result is on no virtual device."),
    ),
    *_pairs(
        "fourth_kernels",
        ("parallel_outer", "values", "The outermost loop may be a reduction."),
        ("lower_binary", "ill-formed", "Comparisons result in bool."),
    ),
    *_pairs(
        "fourth_structure",
        ("drop_same_casts", "ill-formed", "Types of one text may have two variables of one name."),
        ("note_sizes", "crash", "An external function has no body."),
        ("merge_branches", "crash", "A branch may have no block."),
        ("sink_calls", "interface", "Calls with effects change places."),
        ("drop_unused_calls", "interface", "Calls with effects are dropped."),
    ),
    *_pairs(
        "fourth_module",
        ("hoist_final_cast", "ill-formed", "The function still declares the type of the cast."),
        ("wrap_public", "crash", "The name of the private function may be taken."),
        ("note_result_bytes", "crash", "A field of a tuple may be a tuple."),
    ),
)
"""Each faulty one beside a correct twin, over kernels, several functions, and effects."""
