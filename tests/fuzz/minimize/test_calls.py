"""Calls become plainer ones where nothing needs them to be what they are."""

from __future__ import annotations

from collections.abc import Callable

import tvm

from relaxfuzz.fuzz.minimize.calls import opaque_calls, plain_operators
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.generators.ops.roles import PLAINEST
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import calls_of, op_name

Written = Callable[[str], tvm.IRModule]


def always(mod: tvm.IRModule) -> bool:
    return True


def ops(mod: tvm.IRModule) -> list[str]:
    return [str(op_name(call)).removeprefix("relax.") for call in calls_of(mod)]


OPAQUE = """
@T.prim_func(private=True, s_tir=True)
def double(X: T.Buffer((T.int64(2),), "float32"), Y: T.Buffer((T.int64(2),), "float32")):
    for i in range(T.int64(2)):
        with T.sblock("double"):
            v = T.axis.spatial(T.int64(2), i)
            Y[v] = X[v] + X[v]

@R.function
def main(x: R.Tensor((2,), "float32"), s: R.Shape(["n"])):
    n = T.int64()
    cls = Module
    a = R.call_tir(cls.double, (x,), out_ty=R.Tensor((2,), "float32"))
    b = R.call_dps_packed("g", (a, x), out_ty=R.Tensor((n,), "int32"))
    return b
"""


def test_what_is_called_does_not_matter(written: Written) -> None:
    mod = written(OPAQUE)
    small = minimize(mod, always, reductions=(opaque_calls,))
    assert ops(small) == ["call_pure_packed", "call_pure_packed"]
    assert [len(call.args) for call in calls_of(small)] == [2, 3]
    assert str(small["main"].ret_ty) == str(mod["main"].ret_ty)
    assert flaw(small) is None


FUNCTION = """
@R.function(private=True)
def pair(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Shape([2])):
    return (x, R.shape([2]))

@R.function
def main(x: R.Tensor((2,), "float32")):
    cls = Module
    a = cls.pair(x)
    return a
"""


def test_the_function_that_is_called_does_not_matter(written: Written) -> None:
    mod = written(FUNCTION)
    small = minimize(mod, always, reductions=(opaque_calls,))
    (call,) = calls_of(small)
    assert op_name(call) == PLAINEST
    assert str(call.ty) == str(mod["main"].ret_ty)
    assert flaw(small) is None

    def calls_a_function(mod: tvm.IRModule) -> bool:
        return any(isinstance(call.op, tvm.ir.GlobalVar) for call in calls_of(mod))

    kept = minimize(mod, calls_a_function, reductions=(opaque_calls,))
    assert ops(kept) == ["None"]


OPERATORS = """
@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32")):
    a = R.power(x, y)
    b = R.nn.softmax(a, axis=0)
    c = R.sum(b, axis=[1])
    d = R.shape_of(c)
    return d
"""


def test_the_operator_does_not_matter(written: Written) -> None:
    small = minimize(written(OPERATORS), always, reductions=(plain_operators,))
    assert ops(small) == ["negative", "negative", "negative", "shape_of"]
    assert flaw(small) is None


def test_an_operator_of_the_compiler_does_not_matter(written: Written) -> None:
    cast = """
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), n: R.Shape([3])):
        a = R.astype(x, "float16")
        b = R.shape_to_tensor(n)
        return (a, b)
    """
    small = minimize(written(cast), always, reductions=(plain_operators,))
    assert ops(small) == ["negative", "shape_to_tensor"]


def test_plain_ones_are_left_alone(written: Written) -> None:
    plain = """
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        a = R.negative(x)
        b = R.call_pure_packed("f", a, ty_args=R.Tensor((2,), "float32"))
        return b
    """
    mod = written(plain)
    assert list(opaque_calls(mod)) == []
    assert list(plain_operators(mod)) == []
