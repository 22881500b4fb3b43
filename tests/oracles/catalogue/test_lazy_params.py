"""Weights that are loaded and stored one by one: which one, and what becomes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.contract import Relation
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.evaluate import evaluate
from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.expected.relations import rule
from relaxfuzz.oracles.passcall import PassCall

NAME = "main_transform_params"
CALL = PassCall("LazyTransformParams()")


@I.ir_module
class Module:
    @R.function
    def main_transform_params(
        weights: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")),
    ) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        first = weights[0]
        second = weights[1]
        doubled = R.add(first, first)
        less = R.subtract(second, first)
        both = (doubled, less)
        return both  # noqa: RET504 (the pass looks for a variable)


def lazily(mod: tvm.IRModule) -> tvm.IRModule:
    return relax.transform.LazyTransformParams()(mod)


@relax.expr_functor.mutator
class Swapped(relax.PyExprMutator):
    """Calls one packed function with the other index."""

    def __init__(self, mod: tvm.IRModule, name: str) -> None:
        super().__init__(mod)
        self._name = name

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        if not isinstance(call.op, relax.ExternFunc) or call.op.global_symbol != self._name:
            return call
        index, *rest = call.args
        other = relax.prim_value(1 - int(index.value))
        return relax.Call(call.op, [other, *rest], call.attrs, call.ty_args)


def swapped(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    mutator = Swapped(mod, name)
    gvar = mod.get_global_var(NAME)
    mutator.builder_.update_func(gvar, mutator.visit_expr(mod[gvar]))
    return mutator.builder_.get()


def values(after: tvm.IRModule, call: PassCall = CALL) -> tuple[Expectation, Any]:
    """The values of the module, and those of its lazy form."""
    args = [(np.array([1, 2], "float32"), np.array([5, 7], "float32"))]
    expected = Expectation(Module, NAME, args, evaluate(Module, NAME, args))
    lazy = rule(Relation.LAZY_PARAMS, Module, after, call)
    assert lazy is not None
    plan = lazy.plan(NAME, args)
    return expected, Expectation(after, NAME, args, None, plan=lambda given: plan).evaluate()


def test_the_contract_agrees() -> None:
    assert catalogue[CALL.name].relation is Relation.LAZY_PARAMS


def test_each_weight_comes_and_goes_by_its_index() -> None:
    expected, actual = values(lazily(Module))
    np.testing.assert_array_equal(actual[0], [2, 4])
    np.testing.assert_array_equal(actual[1], [4, 5])
    assert expected.differs(actual) is None


@pytest.mark.parametrize("name", ["get_item", "set_item"])
def test_another_index_is_another_value(name: str) -> None:
    expected, actual = values(swapped(lazily(Module), name))
    assert expected.differs(actual) is not None


def test_packed_functions_are_recognized_by_name() -> None:
    with pytest.raises(Unsupported, match="get_item"):
        evaluate(lazily(Module), NAME, [])


def test_a_result_that_nobody_stores_is_returned() -> None:
    call = PassCall("LazyTransformParams('get_item', None)")
    after = call.run(Module)
    contract = catalogue[CALL.name]
    assert contract.post is not None
    assert contract.post(Module, after, call) is None
    assert contract.post(Module, after, CALL) is not None
    expected, actual = values(after, call)
    assert expected.differs(actual) is None
    expected, actual = values(swapped(after, "get_item"), call)
    assert expected.differs(actual) is not None
