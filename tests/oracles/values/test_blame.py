"""Where two computations of one result part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.values.blame import first_difference, mistyped

X = relax.Var("x", relax.TensorType((3,), "float32"))

Step = Callable[[relax.Expr], relax.Expr]


def doubled(value: relax.Expr) -> relax.Expr:
    return relax.op.add(X, X)


def squared(value: relax.Expr) -> relax.Expr:
    return relax.op.multiply(X, X)


def expectation(*steps: Step) -> Expectation:
    """Of a function whose steps but the last are all bound to variables of the name `lv`."""
    bindings = []
    value: relax.Expr = X
    normalizer = relax.BlockBuilder()
    for step in steps:
        made = normalizer.normalize(step(value))
        value = relax.Var("gv" if step is steps[-1] else "lv", made.ty)
        bindings.append(relax.VarBinding(value, made))
    body = relax.SeqExpr([relax.BindingBlock(bindings)], value)
    func = relax.Function([X], body, value.ty).with_attr("global_symbol", "main")
    e = Expectation(tvm.IRModule({"main": func}), "main", [np.array([1, 2, 3], "float32")], None)
    e.result = e.evaluate()
    return e


@pytest.mark.parametrize(
    ("after", "blamed"),
    [
        ((squared, relax.op.sum), "relax.add"),
        ((doubled, relax.op.max), "relax.sum"),
        ((relax.op.exp, squared, relax.op.sum), "relax.add"),
        ((squared, doubled, relax.op.max), "relax.sum"),
    ],
)
def test_variables_of_one_name_are_all_looked_at(after: tuple[Step, ...], blamed: str) -> None:
    assert first_difference(expectation(doubled, relax.op.sum), expectation(*after)) == blamed


@I.ir_module
class TwoResults:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            sign = R.sign(a)
            b = R.square(y)
            R.output(sign, b)
        return (sign, b)


@I.ir_module
class OtherResults:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.abs(x)
            sign = R.sign(a)
            b = R.add(y, y)
            R.output(sign, b)
        return (sign, b)


def test_what_only_an_equal_part_of_the_result_uses_is_not_blamed() -> None:
    args = [np.array([1, 2, 3], "float32") for _ in range(2)]
    before, after = (Expectation(mod, "main", args, None) for mod in (TwoResults, OtherResults))
    for e in (before, after):
        e.result = e.evaluate()
    assert first_difference(before, after) == "relax.square"


def named_again(value: relax.Expr) -> relax.Expr:
    return value


def test_a_value_that_another_variable_had_before_is_not_that_one_renamed() -> None:
    def named(name: str, e: Expectation) -> Expectation:
        """The second variable has this name."""
        first, second, *rest = e.mod["main"].body.blocks[0].bindings
        var = relax.Var(name, second.var.ty)
        bindings = [first, relax.VarBinding(var, second.value)]
        bindings += [relax.VarBinding(one.var, relax.op.sum(var)) for one in rest]
        body = relax.SeqExpr([relax.BindingBlock(bindings)], rest[-1].var)
        func = relax.Function([X], body, rest[-1].var.ty).with_attr("global_symbol", "main")
        made = Expectation(tvm.IRModule({"main": func}), "main", e.args, None)
        made.result = made.evaluate()
        return made

    before = named("lv1", expectation(doubled, doubled, relax.op.sum))
    after = named("lv1", expectation(doubled, squared, relax.op.sum))
    assert first_difference(before, after) == "relax.add"


def test_another_name_for_a_variable_is_what_the_variable_is() -> None:
    assert first_difference(expectation(doubled, named_again), expectation(squared)) == "relax.add"


def image(shape: tuple[int, ...], *elements: float) -> Step:
    shown = np.array(elements, "float32").reshape(shape)
    return lambda value: relax.op.negative(relax.const(-shown))


@pytest.mark.parametrize(
    ("made", "blamed"),
    [
        (image((1, 3, 1), 2, 4, 6), "relax.sum"),
        (image((1, 3, 1), 2, 4, 5), "relax.negative"),
        (image((3,), 4, 2, 6), "relax.negative"),
    ],
    ids=["another layout", "other elements", "flattened"],
)
def test_the_same_elements_in_another_layout_are_no_difference(made: Step, blamed: str) -> None:
    before = expectation(image((1, 1, 3), 2, 4, 6), relax.op.sum)
    assert first_difference(before, expectation(made, relax.op.max)) == blamed


@pytest.mark.parametrize(("indexing", "op"), [("xy", "relax.meshgrid"), ("ij", None)])
def test_what_is_inferred_is_compared(indexing: str, op: str | None) -> None:
    def grid(value: relax.Expr) -> relax.Expr:
        return relax.op.meshgrid([value, relax.const(np.ones(2, "float32"))], indexing)

    assert mistyped(expectation(doubled, grid)) == op
