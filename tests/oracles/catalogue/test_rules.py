"""Rules for rewriting by patterns: each changes modules, and keeps their values."""

from __future__ import annotations

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.fuzz.user_input.named import names_in
from relaxfuzz.generators.choices import Choices
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.catalogue.rewriting import call_of
from relaxfuzz.oracles.catalogue.rules import CONTEXTS, MODULES, PATTERNS, RewriteRule
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

RULES = (*PATTERNS, *MODULES, *CONTEXTS)
ONLY_MATCH = ("concatenated_constant", "product_over", "cube_of_typed", "sum_of_kernels")


@I.ir_module
class Model:
    """Something for every rule."""

    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"),
        y: R.Tensor((2, 3), "float32"),
        v: R.Tensor((3, 4), "float32"),
        w: R.Tensor((3, 5), "float32"),
        s: R.Tensor((3, 3), "float32"),
    ):
        with R.dataflow():
            double = R.add(x, x)
            negated = R.negative(R.negative(x))
            absolute = R.abs(R.abs(y))
            difference = R.subtract(y, R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))
            total = R.sum(y, axis=[1], keepdims=False)
            square = R.square(y)
            fields = (x, negated)
            field = fields[0]
            together = R.concat((R.const([[1.0, 1.0, 1.0]], "float32"), field), axis=0)
            ratio = R.divide(R.multiply(x, y), y)
            both = R.add(x, y)
            less = R.subtract(x, y)
            one = R.exp(double)
            other = R.exp(absolute)
            left = R.matmul(x, v)
            right = R.matmul(x, w)
            root = R.exp(less)
            first = R.negative(root)
            second = R.square(root)
            third = R.square(one)
            fourth = R.square(other)
            fifth = R.square(s)
            same = R.reshape(y, R.shape([2, 3]))
            positive = R.nn.relu(same)
            cube = R.multiply(square, y)
            gv = (
                (negated, difference, total, square, together, ratio, both),
                (left, right, first, second, third, fourth, fifth, same, positive, cube),
            )
            R.output(gv)
        return gv


def made(rule: RewriteRule) -> PassCall:
    arguments = "((2, 3), 'float32')" if rule.typed else "()"
    return call_of([(rule, f"{rule.name}{arguments}")])


def alone(call: PassCall, mod: tvm.IRModule) -> tvm.IRModule:
    """What the call gives in a file of its own, whose annotations are evaluated."""
    imports, expression = call.source()
    names: dict[str, object] = {"relax": relax}
    for statement in imports:
        exec(compile(statement, "alone", "exec", dont_inherit=True), names)
    return eval(expression, names)(mod)


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_a_rule_changes_the_module_and_keeps_its_values(rule: RewriteRule) -> None:
    call = made(rule)
    assert call.name in catalogue
    changed = not tvm_ffi.structural_equal(call.run(Model), Model, map_free_vars=True)
    assert changed == (rule.name not in ONLY_MATCH)
    assert tvm_ffi.structural_equal(alone(call, Model), call.run(Model), map_free_vars=True)
    if rule.name == "difference_module":
        return  # TVM 0.27 puts its statements between those of a dataflow block
    oracles = ("crash", "well-formed", "sequential", "evaluated")
    assert list(check(Case(Model, (call,)), oracles=oracles)) == []


@I.ir_module
class OtherInner:
    @R.function
    def main(
        x: R.Tensor((2, 2), "float32"),
        v: R.Tensor((2, 3), "float32"),
        w: R.Tensor(("n", 3), "float32"),
    ):
        with R.dataflow():
            left = R.matmul(x, v)
            right = R.matmul(x, w)
            gv = (left, right)
            R.output(gv)
        return gv


def test_a_rule_gives_what_has_the_type_of_what_was_there() -> None:
    """The weights fit side by side only where n is 2: TVM infers no shape of both together."""
    (rule,) = (rule for rule in CONTEXTS if rule.name == "parallel_matmuls")
    assert list(check(Case(OtherInner, (made(rule),)))) == []


def test_a_rewriter_names_what_it_looks_for() -> None:
    rules = [rule for rule in PATTERNS if rule.name in ("doubling", "twice_negated")]
    names = {}
    exec("\n".join(call_of([(rule, f"{rule.name}()") for rule in rules]).source()[0]), names)
    rewriter = eval(call_of([(rule, f"{rule.name}()") for rule in rules]).expr, names)
    found = names_in(rewriter)
    assert found.ops == ("add", "negative")
    assert found.chains == (("negative", "negative"),)


@pytest.mark.parametrize("name", ["PatternMatchingRewriter", "rewrite_bindings"])
def test_the_simplest_variant_fits_the_module(name: str) -> None:
    call = catalogue[name].choose(Choices(b""), Model)
    assert call is not None
    assert call.name == name
    assert not tvm_ffi.structural_equal(call.run(Model), Model, map_free_vars=True)
