"""Traits: orthogonal features of a module that can be switched on, off or forced."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class Trait(enum.StrEnum):
    """A feature of generated modules; the value is its spelling on the command line."""

    # Functions
    SEVERAL_FUNCTIONS = "several-functions"
    PRIVATE_FUNCTIONS = "private-functions"
    FUNCTION_CALLS = "function-calls"
    HELPERS = "helpers"
    RECURSION = "recursion"
    NO_MAIN = "no-main"
    PASS_NAMES = "pass-names"
    CLOSURES = "closures"
    FUNCTION_VALUES = "function-values"
    COMPOSITE = "composite"
    CODEGEN = "codegen"
    PRIMITIVE = "primitive"
    PUBLIC_PRIM_FUNCS = "public-prim-funcs"
    EXTERN_FUNCS = "extern-funcs"
    DIFFERENTIABLE = "differentiable"
    TRANSFORM_PARAMS = "transform-params"
    # Attributes
    SYSTEM_LIB_PREFIX = "system-lib-prefix"
    NUM_INPUT = "num-input"
    VDEVICES = "vdevices"
    BOUNDED_DIMS = "bounded-dims"
    # Types
    SYMBOLIC_SHAPES = "symbolic-shapes"
    COMPOSITE_DIMS = "composite-dims"
    MATCH_CAST = "match-cast"
    INCOMPLETE_TYPES = "incomplete-types"
    SHARED_SHAPES = "shared-shapes"
    SHAPE_VALUES = "shape-values"
    NUMBERS = "numbers"
    ANY = "any"
    ZERO_SIZE = "zero-size"
    UNIT_DIMS = "unit-dims"
    EQUAL_DIMS = "equal-dims"
    DTYPES = "dtypes"
    # Bindings
    NO_LEGALIZE = "no-legalize"
    IF = "if"
    TUPLES = "tuples"
    CONSTANTS = "constants"
    SHARED_CONSTANTS = "shared-constants"
    ALIASES = "aliases"
    TRIVIAL_OUTPUTS = "trivial-outputs"
    ALL_RETURNED = "all-returned"
    NON_DATAFLOW = "non-dataflow"
    IMPURE = "impure"
    CALL_TIR = "call-tir"
    CALL_TIR_INPLACE = "call-tir-inplace"
    CALL_TIR_WITH_GRAD = "call-tir-with-grad"
    CALL_DPS_PACKED = "call-dps-packed"
    CALL_PACKED = "call-packed"
    IDIOMS = "idioms"
    REPEATED_CALLS = "repeated-calls"
    VARIED_CALLS = "varied-calls"
    EQUAL_OPERANDS = "equal-operands"
    UNIFORM_CONSTANTS = "uniform-constants"
    NO_DATAFLOW = "no-dataflow"
    BOUND_PARAMS = "bound-params"


CHANCE: Mapping[Trait, float] = {
    Trait.SEVERAL_FUNCTIONS: 0.6,
    Trait.PRIVATE_FUNCTIONS: 0.5,
    Trait.FUNCTION_CALLS: 0.5,
    Trait.HELPERS: 0.6,
    Trait.RECURSION: 0.5,
    Trait.NO_MAIN: 0.15,
    Trait.PASS_NAMES: 0.12,
    Trait.CLOSURES: 0.2,
    Trait.FUNCTION_VALUES: 0.25,
    Trait.COMPOSITE: 0.3,
    Trait.CODEGEN: 0.4,
    Trait.PRIMITIVE: 0.35,
    Trait.PUBLIC_PRIM_FUNCS: 0.15,
    Trait.EXTERN_FUNCS: 0.06,
    Trait.DIFFERENTIABLE: 0.15,
    Trait.TRANSFORM_PARAMS: 0.1,
    Trait.SYSTEM_LIB_PREFIX: 0.15,
    Trait.NUM_INPUT: 0.4,
    Trait.VDEVICES: 0.2,
    Trait.BOUNDED_DIMS: 0.4,
    Trait.SYMBOLIC_SHAPES: 0.35,
    Trait.COMPOSITE_DIMS: 0.3,
    Trait.MATCH_CAST: 0.35,
    Trait.INCOMPLETE_TYPES: 0.2,
    Trait.SHARED_SHAPES: 0.4,
    Trait.SHAPE_VALUES: 0.15,
    Trait.NUMBERS: 0.12,
    Trait.ANY: 0.4,
    Trait.ZERO_SIZE: 0.12,
    Trait.UNIT_DIMS: 0.4,
    Trait.EQUAL_DIMS: 0.06,
    Trait.DTYPES: 0.4,
    Trait.NO_LEGALIZE: 0.15,
    Trait.IF: 0.25,
    Trait.TUPLES: 0.5,
    Trait.CONSTANTS: 0.5,
    Trait.SHARED_CONSTANTS: 0.3,
    Trait.ALIASES: 0.3,
    Trait.TRIVIAL_OUTPUTS: 0.3,
    Trait.ALL_RETURNED: 0.2,
    Trait.NON_DATAFLOW: 0.3,
    Trait.IMPURE: 0.15,
    Trait.CALL_TIR: 0.4,
    Trait.CALL_TIR_INPLACE: 0.2,
    Trait.CALL_TIR_WITH_GRAD: 0.08,
    Trait.CALL_DPS_PACKED: 0.12,
    Trait.CALL_PACKED: 0.2,
    Trait.IDIOMS: 0.7,
    Trait.REPEATED_CALLS: 0.2,
    Trait.VARIED_CALLS: 0.05,
    Trait.EQUAL_OPERANDS: 0.1,
    Trait.UNIFORM_CONSTANTS: 0.1,
    Trait.NO_DATAFLOW: 0.0,
    Trait.BOUND_PARAMS: 0.0,
}
"""The chance of a trait that is neither forced nor switched off. Traits that keep modules out of
later stages (incomplete types, no FLegalize) are rarer than the number of their bugs would suggest.
A trait of chance 0 occurs only if it is forced."""

assert set(CHANCE) == set(Trait), "every trait has a chance"

IMPLIES: Mapping[Trait, tuple[Trait, ...]] = {
    Trait.PRIVATE_FUNCTIONS: (Trait.SEVERAL_FUNCTIONS,),
    Trait.FUNCTION_CALLS: (Trait.SEVERAL_FUNCTIONS,),
    Trait.HELPERS: (Trait.FUNCTION_CALLS, Trait.SEVERAL_FUNCTIONS),
    Trait.FUNCTION_VALUES: (Trait.SEVERAL_FUNCTIONS,),
    Trait.ANY: (Trait.MATCH_CAST, Trait.SEVERAL_FUNCTIONS),
    Trait.COMPOSITE_DIMS: (Trait.SYMBOLIC_SHAPES,),
    Trait.BOUNDED_DIMS: (Trait.SYMBOLIC_SHAPES,),
    Trait.RECURSION: (Trait.IF,),
    Trait.CODEGEN: (Trait.CLOSURES,),
    Trait.PRIMITIVE: (Trait.CALL_TIR,),
    Trait.BOUND_PARAMS: (Trait.CONSTANTS,),
}
"""Traits that mean nothing without others."""
