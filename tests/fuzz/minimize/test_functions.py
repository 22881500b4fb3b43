"""Functions are dropped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.functions import (
    drop_functions,
    publish_one_function,
)
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import attr, bindings_of, ops_used

Written = Callable[[str], tvm.IRModule]

CALLS = """
@R.function(private=True)
def first(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    y = R.exp(x)
    return y

@R.function(private=True)
def second(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    cls = Module
    y = cls.first(x)
    z = R.sin(y)
    return z

@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    cls = Module
    y = cls.second(x)
    z = R.tanh(y)
    return z

@R.function
def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    y = R.cos(x)
    return y
"""


def names(mod: tvm.IRModule) -> set[str]:
    return {gvar.name_hint for gvar in mod.get_global_vars()}


def test_a_private_function_is_tried_as_a_public_one(written: Written) -> None:
    def holds(mod: tvm.IRModule) -> bool:
        public = [f for f in mod.functions.values() if attr(f, "global_symbol") is not None]
        return bool(public) and "relax.exp" in ops_used(mod)

    small = minimize(written(CALLS), holds, reductions=(publish_one_function,))
    assert names(small) == {"first"}
    assert flaw(small) is None


@pytest.mark.parametrize("op", ["tanh", "sin"])
def test_calls_go_with_what_they_call(written: Written, op: str) -> None:
    mod = written(CALLS)
    small = minimize(mod, lambda m: f"relax.{op}" in ops_used(m), reductions=(drop_functions,))
    assert len(small.functions) == 1
    assert ops_used(small) == {f"relax.{op}"}


def test_a_kernel_goes_with_the_bindings_that_call_it(written: Written) -> None:
    mod = written("""
    @T.prim_func(private=True)
    def kernel(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((2,), "float32"))
        z = R.exp(y)
        return z
    """)
    small = minimize(mod, lambda m: "relax.exp" in ops_used(m), reductions=(drop_functions,))
    assert names(small) == {"main"}
    assert len(bindings_of(small)) == 1


def test_of_many_functions_most_go_in_few_tries() -> None:
    builder = relax.BlockBuilder()
    for i in range(200):
        x = relax.Var("x", relax.TensorType((2, i + 1), "float32"))
        with builder.function(f"f{i}", [x]):
            op = relax.op.exp if i in (70, 130) else relax.op.sin
            builder.emit_func_output(builder.emit(op(x)))
    tries = 0

    def holds(mod: tvm.IRModule) -> bool:
        nonlocal tries
        tries += 1
        return {"f70", "f130"} <= names(mod)

    small = minimize(builder.get(), holds, reductions=(drop_functions,))
    assert names(small) == {"f70", "f130"}
    assert tries < 60
