"""Functions return less, or something from further up."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.blocks import return_less, shorten_branches
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import bindings_of, nodes, ops_used

Written = Callable[[str], tvm.IRModule]

RESULTS = """
@R.function
def main(x: R.Tensor((2, 3), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = R.sin(a)
        c = R.permute_dims(b)
        R.output(c, a)
    d = R.tanh(c)
    return (a, d, c)
"""


def uses(*ops: str) -> Callable[[tvm.IRModule], bool]:
    return lambda mod: {f"relax.{op}" for op in ops} <= ops_used(mod)


def test_what_comes_later_goes(written: Written) -> None:
    small = minimize(written(RESULTS), uses("sin"), reductions=(return_less,))
    assert ops_used(small) == {"relax.exp", "relax.sin"}
    assert small["main"].body.body.same_as(bindings_of(small)[-1].var)


def test_fields_that_are_not_needed_go(written: Written) -> None:
    def holds(mod: tvm.IRModule) -> bool:
        body = mod["main"].body.body
        return isinstance(body, relax.Tuple) and uses("tanh")(mod)

    small = minimize(written(RESULTS), holds, reductions=(return_less,))
    assert len(small["main"].body.body.fields) == 2


def test_callers_get_the_other_type(written: Written) -> None:
    mod = written("""
    @R.function
    def helper(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 2), "float32"):
        a = R.exp(x)
        b = R.permute_dims(a)
        return b

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 2), "float32"):
        cls = Module
        y = cls.helper(x)
        z = R.sin(y)
        return z
    """)
    small = minimize(mod, uses("exp", "sin"), reductions=(return_less,))
    assert ops_used(small) == {"relax.exp", "relax.sin"}
    assert [int(dim) for dim in small["main"].ret_ty.shape] == [2, 3]


def test_what_is_there_for_its_effect_stays_with_what_follows(written: Written) -> None:
    mod = written("""
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        R.func_attr({"relax.force_pure": False})
        _ = R.print(x, format="{}")
        a = R.exp(x)
        b = R.sin(a)
        return b
    """)
    small = minimize(mod, uses("print", "exp"), reductions=(return_less,))
    assert ops_used(small) == {"relax.print", "relax.exp"}


def test_a_branch_returns_what_was_there_before(written: Written) -> None:
    mod = written("""
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            a = R.exp(x)
            b = R.sin(a)
            z = R.subtract(b, a)
        else:
            d = R.tanh(x)
            z = R.multiply(d, d)
        return z
    """)

    def holds(candidate: tvm.IRModule) -> bool:
        return bool(nodes(candidate, relax.If)) and uses("exp")(candidate)

    small = minimize(mod, holds, reductions=(shorten_branches,))
    assert ops_used(small) == {"relax.exp"}
