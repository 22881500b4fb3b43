"""Relations: the functions of a result that must give what those of the module gave."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.contract import Relation
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.expected.relations import rule
from relaxfuzz.oracles.passcall import PassCall


@I.ir_module
class Called:
    @R.function(private=True)
    def inner(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
        return R.add(x, w)

    @R.function
    def outer(x: R.Tensor((3,), "float32")):
        cls = Called
        return cls.inner(x, x)

    @R.function
    def other(x: R.Tensor((3,), "float32")):
        return R.negative(x)


def test_only_who_calls_a_function_is_concerned_by_its_bound_parameters() -> None:
    call = PassCall("BindParams('inner', {'w': np.ones(3, 'float32')})")
    found = rule(Relation.BOUND_PARAMS, Called, Called, call)
    assert found is not None
    assert [found.applies(name) for name in ("other", "inner", "outer")] == [True, True, False]
    assert found.text("other") == "actual = run('other', [args[i] for i in [0]])"
    assert found.text("inner") == "actual = run('inner', [args[i] for i in [0]])"


@I.ir_module
class Weights:
    @R.function
    def main(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        return R.add(x, w)

    @R.function
    def caller(x: R.Tensor((3,), "float32")):
        cls = Weights
        return cls.main(x, x)


@pytest.mark.parametrize("relation", [Relation.LAZY_INPUT, Relation.LAZY_OUTPUT])
def test_who_calls_no_public_function_is_compared(relation: Relation) -> None:
    found = rule(relation, Weights, Weights, PassCall("LazyGetInput()"))
    assert found is not None
    assert [found.applies(name) for name in ("main", "caller")] == [True, False]


@I.ir_module
class Scaled:
    @T.prim_func
    def main(factor: T.int64, out: T.Buffer((1,), "float32")):
        out[0] = T.Cast("float32", factor)


@pytest.mark.parametrize(("given", "taken"), [(-(2**63), -(2**31)), (7, 7), (2**40, 2**31 - 1)])
def test_a_number_fits_the_parameter_that_became_narrower(given: int, taken: int) -> None:
    after = tirx.transform.ForceNarrowIndexToInt32()(Scaled)
    found = rule(Relation.SAME, Scaled, after, PassCall("tirx.ForceNarrowIndexToInt32()"))
    assert found is not None
    assert found.arguments is not None
    assert found.arguments("main", [given, "out"]) == [taken, "out"]


def test_passes_share_the_values_of_a_module() -> None:
    made = Expectations(Weights)
    rules = [rule(Relation.SAME, Weights, Weights, PassCall("Normalize()")) for _ in range(2)]
    one, other = ([*made.of("main", each)] for each in rules)
    assert one
    assert all(a is b for a, b in zip(one, other, strict=True))
