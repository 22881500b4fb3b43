"""Values that are no tensors are generated, and so are their uses."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import settings
from tvm import relax
from tvm.ir import PrimType

from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.traits import Trait
from tests.generators import values
from tests.generators.test_modules import EXAMPLES
from tests.generators.values import branch, called, has, holds, local, of_function

SHOWN = {
    "reshape by a variable": (values.takes_shape_variable("relax.reshape"), Trait.SHAPE_VALUES),
    "view by a variable": (values.takes_shape_variable("relax.memory.view"), Trait.SHAPE_VALUES),
    "broadcast by a variable": (
        values.takes_shape_variable("relax.broadcast_to"),
        Trait.SHAPE_VALUES,
    ),
    "shape to tensor": (values.takes_shape_variable("relax.shape_to_tensor"), Trait.SHAPE_VALUES),
    "a type names a variable": (values.type_names_variable, Trait.SHAPE_VALUES),
    "shape cast": (values.cast_of(values.is_shape), Trait.SHAPE_VALUES),
    "a dim of an output alone": (
        called("relax.call_tir", values.output_has_dim_of_its_own),
        Trait.CALL_TIR,
        Trait.SYMBOLIC_SHAPES,
    ),
    "a number as operand": (
        called("relax.call_tir", values.number_among_operands),
        Trait.CALL_TIR,
    ),
    "one output of several": (values.one_output_of_several, Trait.CALL_TIR),
    "in place, several outputs": (
        called("relax.call_tir_inplace", lambda call: isinstance(call.ty, relax.TupleType)),
        Trait.CALL_TIR_INPLACE,
    ),
    "tuple cast": (
        values.cast_of(lambda ty: isinstance(ty, relax.TupleType)),
        Trait.MATCH_CAST,
        Trait.TUPLES,
    ),
    "nested tuple cast": (values.cast_of(values.is_nested), Trait.MATCH_CAST, Trait.TUPLES),
    "number cast": (
        values.cast_of(lambda ty: isinstance(ty, PrimType)),
        Trait.NUMBERS,
    ),
    "join of a variable": (values.joins_variable, Trait.TUPLES),
    "join of a parameter": (values.joins_parameter, Trait.TUPLES),
    "a branch returns a tuple": (
        branch(lambda seq: isinstance(seq.ty, relax.TupleType)),
        Trait.IF,
        Trait.TUPLES,
    ),
    "a branch has an effect": (branch(values.prints), Trait.IF, Trait.IMPURE),
    "If in If": (branch(lambda seq: bool(values.inside(seq, relax.If))), Trait.IF),
    "a closure has an effect": (
        local(lambda func: not func.is_pure and values.captures(func)),
        Trait.CLOSURES,
        Trait.IMPURE,
    ),
    "a function returns a function": (
        of_function(lambda func: isinstance(func.ret_ty, relax.FuncType)),
        Trait.FUNCTION_VALUES,
    ),
    "a function returns a closure in a nested tuple": (
        of_function(
            lambda func: (
                values.is_nested(func.ret_ty)
                and holds(func.ret_ty, relax.FuncType)
                and bool(values.inside(func.body, relax.Function))
            )
        ),
        Trait.FUNCTION_VALUES,
        Trait.CLOSURES,
    ),
    "a function takes a function": (values.parameter_of(relax.FuncType), Trait.FUNCTION_VALUES),
    "a nested tuple of results": (
        of_function(
            lambda func: values.is_nested(func.ret_ty) and not holds(func.ret_ty, relax.FuncType)
        ),
        Trait.HELPERS,
        Trait.TUPLES,
    ),
    "a wider parameter": (values.wider_parameter, Trait.ANY),
    "Composite alone": (
        of_function(has("Composite", without=("Primitive",))),
        Trait.COMPOSITE,
    ),
    "Codegen and Primitive": (of_function(has("Codegen", "Primitive")), Trait.CODEGEN),
    "Codegen without Composite": (
        of_function(
            lambda func: has("Codegen")(func) and not values.inside(func.body, relax.Function)
        ),
        Trait.CODEGEN,
    ),
    "Composite in Composite": (local(values.composite_in_composite), Trait.CODEGEN),
    "variables of one name": (values.one_name, Trait.PASS_NAMES),
    "a string as operand": (
        called("relax.call_pure_packed", values.string_among_operands),
        Trait.CALL_PACKED,
    ),
}


@pytest.mark.parametrize("feature", SHOWN)
def test_it_is_generated(feature: str) -> None:
    shown, *traits = SHOWN[feature]
    quick = settings(EXAMPLES, max_examples=1_000, phases=[hypothesis.Phase.generate])
    assert hypothesis.find(ir_modules(force=traits), shown, settings=quick)
