"""Values that are no tensors are generated, and so are their uses."""

from __future__ import annotations

import pytest
from tvm import relax
from tvm.ir import PrimType

from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.traits import Trait
from tests.generators import values
from tests.generators.values import branch, called, has, holds, local, of_function

TRAITS = (
    Trait.ANY,
    Trait.CALL_PACKED,
    Trait.CALL_TIR,
    Trait.CALL_TIR_INPLACE,
    Trait.CLOSURES,
    Trait.CODEGEN,
    Trait.COMPOSITE,
    Trait.FUNCTION_VALUES,
    Trait.HELPERS,
    Trait.IF,
    Trait.IMPURE,
    Trait.MATCH_CAST,
    Trait.NUMBERS,
    Trait.PASS_NAMES,
    Trait.SHAPE_VALUES,
    Trait.SYMBOLIC_SHAPES,
    Trait.TUPLES,
)

DRAWS = 250

SHOWN = {
    "reshape by a variable": values.takes_shape_variable("relax.reshape"),
    "view by a variable": values.takes_shape_variable("relax.memory.view"),
    "broadcast by a variable": values.takes_shape_variable("relax.broadcast_to"),
    "shape to tensor": values.takes_shape_variable("relax.shape_to_tensor"),
    "a type names a variable": values.type_names_variable,
    "shape cast": values.cast_of(values.is_shape),
    "a dim of an output alone": called("relax.call_tir", values.output_has_dim_of_its_own),
    "a number as operand": called("relax.call_tir", values.number_among_operands),
    "one output of several": values.one_output_of_several,
    "in place, several outputs": called(
        "relax.call_tir_inplace", lambda call: isinstance(call.ty, relax.TupleType)
    ),
    "tuple cast": values.cast_of(lambda ty: isinstance(ty, relax.TupleType)),
    "nested tuple cast": values.cast_of(values.is_nested),
    "number cast": values.cast_of(lambda ty: isinstance(ty, PrimType)),
    "join of a variable": values.joins_variable,
    "join of a parameter": values.joins_parameter,
    "a branch returns a tuple": branch(lambda seq: isinstance(seq.ty, relax.TupleType)),
    "a branch has an effect": branch(values.prints),
    "If in If": branch(lambda seq: bool(values.inside(seq, relax.If))),
    "a closure has an effect": local(lambda func: not func.is_pure and values.captures(func)),
    "a function returns a function": of_function(
        lambda func: isinstance(func.ret_ty, relax.FuncType)
    ),
    "a function returns a closure in a nested tuple": of_function(
        lambda func: (
            values.is_nested(func.ret_ty)
            and holds(func.ret_ty, relax.FuncType)
            and bool(values.inside(func.body, relax.Function))
        )
    ),
    "a function takes a function": values.parameter_of(relax.FuncType),
    "a nested tuple of results": of_function(
        lambda func: values.is_nested(func.ret_ty) and not holds(func.ret_ty, relax.FuncType)
    ),
    "a wider parameter": values.wider_parameter,
    "Composite alone": of_function(has("Composite", without=("Primitive",))),
    "Codegen and Primitive": of_function(has("Codegen", "Primitive")),
    "Codegen without Composite": of_function(
        lambda func: has("Codegen")(func) and not values.inside(func.body, relax.Function)
    ),
    "Composite in Composite": local(values.composite_in_composite),
    "variables of one name": values.one_name,
    "a string as operand": called("relax.call_pure_packed", values.string_among_operands),
}


@pytest.fixture(scope="module")
def unseen() -> set[str]:
    """The features that none of the modules has."""
    missing, modules = set(SHOWN), ir_modules(force=TRAITS)
    for index in range(DRAWS):
        mod = example(modules, 3, index)
        missing -= {feature for feature in missing if SHOWN[feature](mod)}
        if not missing:
            break
    return missing


@pytest.mark.parametrize("feature", SHOWN)
def test_it_is_generated(feature: str, unseen: set[str]) -> None:
    assert feature not in unseen
