"""Something that was there before is used instead of a value."""

from __future__ import annotations

from collections.abc import Callable

import tvm

from relaxfuzz.fuzz.minimize.bindings import merge_params, use_earlier
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import bindings_of, calls_of, ops_used

Written = Callable[[str], tvm.IRModule]

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


def test_parameters_that_must_differ_stay(written: Written) -> None:
    mod = written(USES)

    def differ(candidate: tvm.IRModule) -> bool:
        (add,) = calls_of(candidate, "relax.add")
        return not add.args[1].same_as(candidate["main"].params[0])

    assert minimize(mod, differ, reductions=(merge_params,)).script() == mod.script()


def test_each_operand_comes_from_as_far_up_as_possible(written: Written) -> None:
    small = minimize(written(USES), lambda m: True, reductions=(use_earlier,))
    x, y = small["main"].params[:2]
    assert [list(call.args) for call in calls_of(small)] == [[x], [x], [x, y]]


def test_an_operand_that_is_needed_stays(written: Written) -> None:
    def chained(candidate: tvm.IRModule) -> bool:
        exp, sin, _ = bindings_of(candidate)
        return bool(sin.value.args[0].same_as(exp.var))

    small = minimize(written(USES), chained, reductions=(use_earlier,))
    (add,) = calls_of(small, "relax.add")
    assert add.args[0].same_as(small["main"].params[0])
    assert ops_used(small) == {"relax.exp", "relax.sin", "relax.add"}
