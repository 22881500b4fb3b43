"""Functions are dropped, inlined and lifted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.functions import (
    drop_functions,
    inline_functions,
    inline_local_functions,
    keep_one_function,
    lift_local_functions,
)
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import attr, bindings_of, local_functions, nodes, ops_used
from relaxfuzz.oracles.structural.checkers import flaw

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


@pytest.mark.parametrize(
    ("op", "left"),
    [("cos", {"other"}), ("tanh", {"main", "first", "second"}), ("exp", {"first"})],
)
def test_one_function_is_kept_with_what_it_calls(written: Written, op: str, left: set[str]) -> None:
    small = minimize(
        written(CALLS), lambda m: f"relax.{op}" in ops_used(m), reductions=(keep_one_function,)
    )
    assert names(small) == left


def test_a_private_function_is_tried_as_a_public_one(written: Written) -> None:
    def holds(mod: tvm.IRModule) -> bool:
        public = [f for f in mod.functions.values() if attr(f, "global_symbol") is not None]
        return bool(public) and "relax.exp" in ops_used(mod)

    small = minimize(written(CALLS), holds, reductions=(keep_one_function,))
    assert names(small) == {"first"}
    assert flaw(small) is None


@pytest.mark.parametrize("op", ["tanh", "sin"])
def test_calls_go_with_what_they_call(written: Written, op: str) -> None:
    mod = written(CALLS)
    small = minimize(mod, lambda m: f"relax.{op}" in ops_used(m), reductions=(drop_functions,))
    assert len(small.functions) == 1
    assert ops_used(small) == {f"relax.{op}"}


def test_what_is_needed_stays_as_it_is(written: Written) -> None:
    mod = written(CALLS)
    small = minimize(
        mod, lambda m: {"relax.exp", "relax.tanh"} <= ops_used(m), reductions=(drop_functions,)
    )
    assert names(small) == {"main", "first"}
    tvm.ir.assert_structural_equal(small["first"], mod["first"])


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


CALLED = """
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
    small = minimize(written(CALLED), lambda m: True, reductions=(inline_functions,))
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


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        (("n", "m"), "n, m"),
        (("m", "n"), "m, n"),
        (("n + 1", "m"), "n + T.int64(1), m"),
    ],
)
def test_a_local_function_shares_symbolic_dimensions_with_what_is_around_it(
    written: Written, sizes: tuple[str, str], shape: str
) -> None:
    """What stands for a dimension in the local function is told in those of the function around it.

    One may stand for itself, or two for each other; behind the call each is itself again.
    """
    mod = written(f"""
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor({sizes}, "float32")):
        n = T.int64()
        m = T.int64()

        @R.function
        def inner(v: R.Tensor((n, m), "float32")) -> R.Tensor((n, m), "float32"):
            p = R.reshape(v, R.shape([n, m]))
            q = R.strided_slice(p, (0, 1), (0, 0), (n, m))
            return q

        a = inner(y)
        b = R.reshape(x, R.shape([n, m]))
        return (a, b)
    """)
    (edit,) = inline_local_functions(mod)
    small = edit()
    assert small is not None
    assert flaw(small) is None
    p, q, b = bindings_of(small)
    ends = q.value.args[3].fields
    assert ", ".join(map(str, p.value.args[1].values)) == shape
    assert ", ".join(map(str, ends)) == shape
    assert ", ".join(map(str, b.value.args[1].values)) == "n, m"


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
