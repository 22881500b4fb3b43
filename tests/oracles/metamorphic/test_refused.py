"""Conformance of the oracle "refused": it tells broken modules that nothing refuses."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.relax import dpl
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.ops.variation import Variation
from relaxfuzz.generators.source import from_source, to_source
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.execute.fork import in_fork
from relaxfuzz.oracles.inspect import calls_of
from relaxfuzz.oracles.metamorphic import misuse
from relaxfuzz.oracles.metamorphic.broken import RULES, Rule
from relaxfuzz.oracles.metamorphic.graph import Graph
from relaxfuzz.oracles.metamorphic.ill_typed import IllTyped
from relaxfuzz.oracles.metamorphic.misuse import VALUES, Misuse, some
from relaxfuzz.oracles.metamorphic.oracles import SourceFault, rebuilt
from relaxfuzz.oracles.metamorphic.refused import ORACLE
from relaxfuzz.oracles.metamorphic.twins import unshared
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural.checkers import flaw
from relaxfuzz.oracles.violation import Case

from ..snippets import run_snippet

FILE = Path(__file__).with_name("refusing_passes.py")
RETURN = "the return type contradicts the result"
GAPS = {
    RETURN,
    "the index of a TupleGetItem is out of range",
    "an operator has more operands than it takes",
    "an operator that takes a tensor is given a function",
}
"""What the checker of TVM does not look at, or leaves to operators of which some do not."""


@functools.cache
def module() -> tvm.IRModule:
    """A module in which each rule can be broken."""

    @I.ir_module
    class Module:
        @R.function(private=True)
        def helper(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
            return R.add(x, x)

        @R.function(private=True)
        def single(x: R.Tensor((), "float32")) -> R.Tuple(R.Tensor((), "float32")):
            return (x,)

        @R.function
        def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((), "float32")) -> R.Tensor(
            ("n", 3), "float32"
        ):
            cls = Module
            with R.dataflow():
                lv = R.add(x, x)
                lv1 = R.multiply(lv, x)
                lv2 = (lv1, x)
                gv = lv2[0]
                R.output(gv)
            single = cls.single(y)
            first = single[0]
            same = first
            condition = R.greater(same, y)
            if condition:
                a = R.add(gv, gv)
                b = R.nn.relu(a)
                c = b
            else:
                c = cls.helper(gv)
            return c

        @R.function(pure=False)
        def impure(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            _ = R.print(x, format="{}")
            return x

    return Module


def case(factory: str) -> Case:
    return Case(module(), (PassCall(f"{factory}()", factory=f"{FILE}:{factory}"),))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.broken)
def test_each_edit_breaks_its_rule(rule: Rule) -> None:
    count = len(list(rule.edits(Graph(module()))))
    assert count, "the module has no place for it"
    for number in range(count):
        graph = Graph(module())
        list(rule.edits(graph))[number]()
        accepted = relax.analysis.check_well_formed(graph.load())
        assert rule.broken in GAPS or not accepted


def test_the_rules_of_relax_are_not_asked_of_prim_funcs() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def kernel():
            T.evaluate(0)

        @T.prim_func
        def main():
            Module.kernel()

    assert [rule.broken for rule in RULES if list(rule.edits(Graph(Module)))] == []


def test_the_module_itself_is_well_formed() -> None:
    assert flaw(module()) is None


def test_what_the_checker_of_tvm_does_not_look_at_is_told() -> None:
    normalize = Case(module(), (PassCall("Normalize()"),))
    found = {violation.key for violation in check(normalize, oracles=["refused"])}
    assert ("accepted", RETURN) in found
    assert {broken for _, broken in found} <= GAPS


def test_a_pass_that_refuses_is_left_alone() -> None:
    found = {violation.key[1] for violation in check(case("Refuses"), oracles=["refused"])}
    assert RETURN not in found


def test_a_death_is_told() -> None:
    found = {violation.key for violation in check(case("Dies"), oracles=["refused"])}
    assert ("SIGABRT", RETURN) in found


@pytest.mark.parametrize("share", [False, True])
def test_the_snippet_fails_on_what_is_accepted(share: bool) -> None:
    mod = module()
    if share:  # two shapes with one type, which no source can say
        mod = unshared(mod) or pytest.fail("no shape is used twice")
        with pytest.raises(SourceFault):
            rebuilt(mod)
    built = from_source(to_source(mod))
    with pytest.raises(AssertionError, match="no error, where"):
        run_snippet("refused", Case(built, (PassCall("Normalize()"),)))


def test_a_call_of_which_type_inference_dies_is_told() -> None:
    """Known of TVM 0.26 and 0.27: it looks at a shape that may not be known."""
    x = relax.Var("x", relax.TensorType((1, 4, 2, 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.nn.pixel_shuffle(x, 2))
        builder.emit_func_output(out)
    died = ("SIGSEGV", "relax.nn.pixel_shuffle")
    dies = Case(builder.get(), (PassCall("Normalize()"),))
    violations = {each.key: each for each in check(dies, oracles=["refused"])}
    assert died in violations
    (text,) = ORACLE.brief(dies, violations[died])
    assert "BlockBuilder().normalize(call)" in text
    assert in_fork(lambda: exec_only(text)) == ([], "SIGSEGV")


def exec_only(text: str) -> Iterator[bool]:
    exec(text, {"tvm": tvm, "relax": relax})
    yield True


@pytest.mark.parametrize("kind", ["exchanged", "left out"])
def test_what_type_inference_refuses_is_no_finding(kind: str) -> None:
    (call,) = calls_of(module()["impure"])
    change = Variation({(0,): relax.Tuple([]) if kind == "exchanged" else None})
    changed = IllTyped(call, change)
    with contextlib.suppress(Exception):
        changed.infer()
    assert len(calls_of(changed.module())) == 1


@pytest.mark.parametrize("type_", VALUES)
def test_each_type_has_a_value(type_: str) -> None:
    eval(VALUES[type_], {"tvm": tvm, "relax": relax, "dpl": dpl})


def fitting(function: str) -> tuple[str | None, ...]:
    return tuple(map(misuse._fitting, misuse._signatures()[function]))


def test_functions_are_given_arguments_of_other_types() -> None:
    made = list(some(300, random.Random(0)))
    assert made == list(some(300, random.Random(0)))
    assert len({each.function for each in made}) > 100
    assert not any(each.arguments == fitting(each.function) for each in made)
    refused = 0
    for each in made[:60]:
        try:
            each.call()
        except TypeError:
            refused += 1
    assert refused > 30


def test_a_function_that_dies_of_its_arguments_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A null pointer where a function has to be, which the sample does not give."""
    wrong = Misuse("relax.analysis.udchain", ("None",))
    monkeypatch.setattr(misuse, "some", lambda most, chance: iter([wrong]))
    dies = Case(module(), (PassCall("Normalize()"),))
    found = {each.key: each for each in check(dies, oracles=["refused"])}
    died = ("SIGSEGV", "relax.analysis.udchain")
    assert died in found
    (text,) = ORACLE.brief(dies, found[died])
    assert in_fork(lambda: exec_only(text)) == ([], "SIGSEGV")
