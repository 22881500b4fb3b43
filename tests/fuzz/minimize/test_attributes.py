"""Attributes and constants become default ones where nothing needs them."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.minimize.attributes import (
    default_attributes,
    drop_attributes,
    make_private,
    make_pure,
    plain_constants,
)
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import calls_of, is_public, local_functions

Written = Callable[[str], tvm.IRModule]


def always(mod: tvm.IRModule) -> bool:
    return True


BODY = """
I.module_attrs({"system_lib_prefix": "lib_", "other": 1})

@T.prim_func(private=True, s_tir=True)
def kernel(A: T.Buffer((T.int64(2),), "float32")):
    T.func_attr({"tirx.noalias": True, "op_pattern": 0})
    T.evaluate(0)

@R.function
def helper(x: R.Tensor((2, 3), "float32")):
    R.func_attr({"num_input": 1})
    return x

@R.function(pure=False)
def main(x: R.Tensor((2, 3), "float32")):
    R.func_attr({"num_input": 1, "Codegen": "c"})
    cls = Module

    @R.function
    def inner(a: R.Tensor((2, 3), "float32")):
        R.func_attr({"Composite": "c.relu"})
        b = R.nn.relu(a)
        return b

    y = inner(x)
    z = R.nn.softmax(y, axis=0)
    u = R.sum(z, axis=[1], keepdims=True)
    v = cls.helper(x)
    return u
"""


def attributes(mod: tvm.IRModule) -> set[str]:
    """All names of attributes, but for what makes functions public."""
    owners = [mod, *mod.functions.values(), *local_functions(mod)]
    return {str(name) for owner in owners for name in dict(owner.attrs or {})} - {"global_symbol"}


def test_all_attributes_go_but_what_keeps_a_module_plain(written: Written) -> None:
    """A local function without Composite is a closure, and those are rare."""
    mod = written(BODY)
    assert len(attributes(mod)) == 8
    small = minimize(mod, always, reductions=(drop_attributes,))
    assert attributes(small) == {"Composite"}
    assert is_public(small["main"])


def test_functions_that_others_call_become_private(written: Written) -> None:
    small = minimize(written(BODY), always, reductions=(make_private,))
    assert [str(gvar.name_hint) for gvar, func in small.functions.items() if is_public(func)] == [
        "main"
    ]


def test_impure_functions_become_pure_where_they_may(written: Written) -> None:
    assert minimize(written(BODY), always, reductions=(make_pure,))["main"].is_pure


def test_operators_get_default_attributes(written: Written) -> None:
    small = minimize(written(BODY), always, reductions=(default_attributes,))
    assert calls_of(small, "relax.nn.softmax")[0].attrs.axis == -1
    total = calls_of(small, "relax.sum")[0].attrs
    assert total.axis is None
    assert not total.keepdims
    assert str(small["main"].ret_ty) == 'R.Tensor((), dtype="float32")'


def test_a_default_for_all_entries_of_an_attribute_is_no_change() -> None:
    x = relax.Var("x", relax.TensorType((1, 2, 8, 8), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.max_pool2d(x)))
    assert list(default_attributes(builder.get())) == []


CONSTANTS = """
@R.function
def main(x: R.Tensor((3,), "float32")):
    lv = R.add(x, R.const([5, 0, 0.5], "float32"))
    lv1 = R.multiply(lv, R.const([9, 8, 7], "float32"))
    return lv1
"""


def data(mod: tvm.IRModule) -> list[list[float]]:
    return [
        ir.constant_data(calls_of(mod, op)[0].args[1]).numpy().tolist()
        for op in ("relax.add", "relax.multiply")
    ]


def test_all_become_ones(written: Written) -> None:
    small = minimize(written(CONSTANTS), lambda mod: True, reductions=(plain_constants,))
    assert data(small) == [[1, 1, 1], [1, 1, 1]]
