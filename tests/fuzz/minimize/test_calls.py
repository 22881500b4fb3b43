"""What a function does is done where it was called."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.functions import (
    inline_functions,
    inline_local_functions,
    lift_local_functions,
)
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import bindings_of, local_functions, nodes, ops_used
from relaxfuzz.oracles.structural.checkers import flaw

Written = Callable[[str], tvm.IRModule]

CALLS = """
@R.function(private=True)
def helper(x: R.Tensor(("n", 2), "float32")) -> R.Tensor((2, "n"), "float32"):
    R.func_attr({"Primitive": True})
    n = T.int64()
    with R.dataflow():
        a: R.Tensor((n, 2), "float32") = R.exp(x)
        b: R.Tensor((2, n), "float32") = R.permute_dims(a)
        R.output(b)
    return b

@R.function
def main(x: R.Tensor((3, 2), "float32"), y: R.Tensor(("m", 2), "float32")):
    cls = Module
    m = T.int64()
    with R.dataflow():
        p = cls.helper(x)
        q: R.Tensor((2, m), "float32") = cls.helper(y)
        R.output(p, q)
    return (p, q)
"""


def test_a_function_goes_in_line_at_each_call(written: Written) -> None:
    small = minimize(written(CALLS), lambda m: True, reductions=(inline_functions,))
    assert [gvar.name_hint for gvar in small.get_global_vars()] == ["main"]
    variables = [binding.var for binding in bindings_of(small)]
    assert len({hash(var) for var in variables}) == 4
    assert [str(dim) for dim in variables[1].ty.shape] == ["T.int64(2)", "T.int64(3)"]
    assert str(variables[3].ty.shape[1]) == "m"


def test_a_function_that_calls_itself_stays(written: Written) -> None:
    mod = written("""
    @R.function
    def loop(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        a = R.exp(x)
        b: R.Tensor((2,), "float32") = cls.loop(a)
        return b

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y: R.Tensor((2,), "float32") = cls.loop(x)
        return y
    """)
    assert list(inline_functions(mod)) == []


def test_a_callee_with_branches_makes_a_dataflow_block_plain(written: Written) -> None:
    mod = written("""
    @R.function(private=True)
    def helper(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.exp(x)
        else:
            y = R.sin(x)
        return y

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        with R.dataflow():
            a = R.abs(x)
            b = cls.helper(c, a)
            R.output(b)
        return b
    """)
    small = minimize(mod, lambda m: True, reductions=(inline_functions,))
    assert len(small.functions) == 1
    assert nodes(small, relax.If)
    assert flaw(small) is None


LOCAL = """
@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    @R.function
    def inner(v: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        p = R.abs(v)
        q = R.add(p, x)
        return q

    y = inner(x)
    z = inner(y)
    return z
"""


def test_a_local_function_goes_in_line(written: Written) -> None:
    small = minimize(written(LOCAL), lambda m: True, reductions=(inline_local_functions,))
    assert local_functions(small) == []
    assert len(bindings_of(small)) == 4
    assert ops_used(small) == {"relax.abs", "relax.add"}


def test_a_local_function_that_is_more_than_called_stays(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        @R.function
        def inner(v: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            p = R.abs(v)
            return p

        y = inner(x)
        return (y, inner)
    """)
    small = minimize(mod, lambda m: True, reductions=(inline_local_functions,))
    assert len(local_functions(small)) == 1


def test_a_local_function_takes_the_place_of_the_one_around_it(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.exp(x)

        @R.function
        def inner(v: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            p = R.add(v, y)
            return p

        return inner
    """)
    small = minimize(mod, lambda m: True, reductions=(lift_local_functions,))
    assert local_functions(small) == []
    assert ops_used(small) == {"relax.exp", "relax.add"}
    assert [str(param.name) for param in small["main"].params] == ["x", "v"]
    assert small["main"].body.body.same_as(bindings_of(small)[-1].var)


def test_a_function_that_is_called_is_not_replaced_by_what_is_inside(written: Written) -> None:
    mod = written("""
    @R.function(private=True)
    def make(x: R.Tensor((2,), "float32")):
        @R.function
        def inner(v: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            p = R.add(v, x)
            return p

        return inner

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        f = cls.make(x)
        return f
    """)
    assert list(lift_local_functions(mod)) == []
