"""Bindings are dropped, passed by, or use something earlier."""

from __future__ import annotations

import random
from collections.abc import Callable

import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.bindings import (
    drop_bindings,
    drop_dead,
    drop_many_bindings,
    merge_params,
    shorten_chains,
)
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.signatures import drop_tuple_fields
from relaxfuzz.generators.modules import BINDING, FUNCTION_HEADER, HEADER, SPECIAL, build
from relaxfuzz.generators.ops import table
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import bindings_of, calls_of, op_name, ops_used

Written = Callable[[str], tvm.IRModule]

CHAIN = """
@R.function
def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    with R.dataflow():
        a = R.exp(x)
        b = R.nn.relu(a)
        c = R.sin(b)
        R.output(c)
    d = R.tanh(c)
    return d
"""


def ops(mod: tvm.IRModule) -> list[str]:
    return [name.removeprefix("relax.") for call in calls_of(mod) if (name := op_name(call))]


def leads_to(maker: str, user: str) -> Callable[[tvm.IRModule], bool]:
    """What one operator made is, after whatever other steps, an operand of the other."""

    def holds(mod: tvm.IRModule) -> bool:
        made: set[int] = set()
        for binding in bindings_of(mod):
            call = binding.value
            if isinstance(call, relax.Call) and not made.isdisjoint(map(hash, call.args)):
                made.add(hash(binding.var))
                if op_name(call) == f"relax.{user}":
                    return True
            if op_name(call) == f"relax.{maker}":
                made.add(hash(binding.var))
        return False

    return holds


def test_a_link_of_a_chain_goes(written: Written) -> None:
    small = minimize(written(CHAIN), leads_to("exp", "tanh"), reductions=(drop_bindings,))
    assert ops(small) == ["exp", "tanh"]


def test_what_made_an_operand_goes_with_a_parameter_in_its_place(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((4,), "float32")):
        a = R.sum(x, axis=[1], keepdims=True)
        b = R.add(a, y)
        c = R.exp(b)
        return c
    """)
    small = minimize(mod, lambda m: "relax.add" in ops_used(m), reductions=(drop_bindings,))
    assert ops(small) == ["add"]
    assert [str(param.name) for param in small["main"].params] == ["x", "y", "a"]


def test_a_called_function_gets_a_parameter_that_its_callers_get_too(written: Written) -> None:
    mod = written("""
    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        a = R.concat((x, x))
        b = R.strided_slice(a, axes=[0], begin=[0], end=[3])
        c = R.exp(b)
        return c

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        y = cls.helper(x)
        return y
    """)
    small = minimize(
        mod,
        lambda m: "helper" in {g.name_hint for g in m.functions} and "relax.exp" in ops_used(m),
        reductions=(drop_bindings,),
    )
    assert ops(small) == ["exp"]
    assert len(small["helper"].params) == len(small["main"].params) > 1


def test_bindings_of_branches_and_local_functions_go(written: Written) -> None:
    mod = written("""
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def inner(v: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            p = R.abs(v)
            q = R.cos(p)
            r = R.negative(q)
            return r

        if c:
            i = R.exp(x)
            j = R.sin(i)
            y = R.sqrt(j)
        else:
            y = inner(x)
        return y
    """)
    small = minimize(
        mod, lambda m: {"relax.cos", "relax.sin"} <= ops_used(m), reductions=(drop_bindings,)
    )
    assert sorted(ops(small)) == ["cos", "sin"]


def test_a_shape_that_is_a_value_is_left_out_of_the_type_of_a_parameter(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((16,), "float32"), s: R.Tensor((2,), "int64")):
        shape: R.Shape(ndim=2) = R.tensor_to_shape(s)
        y: R.Tensor(shape, "float32") = R.reshape(x, shape)
        z = R.exp(y)
        return z
    """)
    small = minimize(mod, lambda m: "relax.exp" in ops_used(m), reductions=(drop_bindings,))
    assert ops(small) == ["exp"]
    assert small["main"].params[2].ty.ndim == 2


def test_of_a_large_function_long_runs_go_first() -> None:
    draw = random.Random(1).randbytes
    body = [draw(BINDING) for _ in range(60)]
    draws = (
        draw(HEADER),
        draw(SPECIAL),
        [(draw(FUNCTION_HEADER), body)],
    )
    mod = build(draws, frozenset(), frozenset(), tuple(table.values()))
    before = len(bindings_of(mod))
    some = ops(mod)[len(ops(mod)) // 2]
    small = minimize(
        mod, lambda m: f"relax.{some}" in ops_used(m), reductions=(drop_many_bindings,)
    )
    assert before > 60
    assert len(bindings_of(small)) < before / 2


def test_a_chain_of_changing_types_gets_shorter(written: Written) -> None:
    mod = written("""
    @R.function(private=True)
    def helper(x: R.Tensor((2, 3), "float32")) -> R.Tensor((6,), "float32"):
        a = R.exp(x)
        b = R.permute_dims(a)
        c = R.reshape(b, (6,))
        d = R.sin(c)
        return d

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((6,), "float32"):
        cls = Module
        y = cls.helper(x)
        return y
    """)
    small = minimize(
        mod,
        lambda m: leads_to("exp", "sin")(m) and len(m.functions) == 2,
        reductions=(shorten_chains,),
    )
    assert ops(small) == ["exp", "sin"]
    assert [int(dim) for dim in small["main"].ret_ty.shape] == [2, 3]


def test_an_operator_becomes_a_constant(written: Written) -> None:
    mod = written("""
    @R.function
    def main() -> R.Tensor((2,), "float32"):
        a = R.zeros((2,), "float32")
        b = R.exp(a)
        return b
    """)
    small = minimize(mod, lambda m: "relax.exp" in ops_used(m), reductions=(shorten_chains,))
    assert ops(small) == ["exp"]


def test_a_value_of_a_stronger_type_replaces_one_of_a_weaker(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a: R.Tensor(ndim=2) = R.exp(x)
        b = R.sin(a)
        return b
    """)
    small = minimize(mod, lambda m: "relax.sin" in ops_used(m), reductions=(drop_bindings,))
    assert ops(small) == ["sin"]
    assert [int(dim) for dim in bindings_of(small)[0].value.args[0].ty.shape] == [2, 3]


def test_only_what_is_dead_goes(written: Written) -> None:
    mod = written("""
    @R.function
    def other(x: R.Tensor((2,), "float32")):
        a = R.exp(x)
        b = R.exp(x)
        return b

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(ndim=1)):
        n = T.int64()
        m = T.int64()
        a = R.match_cast(y, R.Tensor((m,), "float32"))
        b = R.sin(x)
        c = R.zeros((m,), "float32")
        return c
    """)
    edits = list(drop_dead(mod))
    both = edits[0]()
    assert both is not None
    assert sorted(ops(both)) == ["exp", "zeros"]
    assert flaw(both) is None
    for edit in edits[1:]:
        one = edit()
        assert one is not None
        changed = [g for g, func in one.functions_items() if not func.same_as(mod[g.name_hint])]
        assert len(changed) == 1


def test_fields_of_tuples_go(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")):
        t = (x, y, x)
        a = t[2]
        b = R.concat((a, y, y), axis=0)
        c = R.exp(b)
        return c
    """)
    small = minimize(mod, lambda m: "relax.exp" in ops_used(m), reductions=(drop_tuple_fields,))
    whole, _, _, _ = (binding.value for binding in bindings_of(small))
    assert len(whole.fields) == 1
    (concat,) = calls_of(small, "relax.concat")
    assert len(concat.args[0].fields) == 1


USES = """
@R.function
def main(
    x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32"), z: R.Tensor((3,), "float32")
):
    with R.dataflow():
        a = R.exp(x)
        b = R.sin(a)
        c = R.add(b, y)
        R.output(b, c)
    return (b, c)
"""


def test_one_parameter_is_used_for_all_of_its_type(written: Written) -> None:
    small = minimize(written(USES), lambda m: True, reductions=(merge_params,))
    (add,) = calls_of(small, "relax.add")
    assert add.args[1].same_as(small["main"].params[0])
