"""Text that stands alone: it runs without this package, and does what the original does."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest
import tvm

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles import keys
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.catalogue.dispatch import _dispatched
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.metamorphic import twins
from relaxfuzz.oracles.metamorphic.graph import Graph
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural import canonical
from relaxfuzz.oracles.text.standalone import NotStandalone, nested_module, standalone
from relaxfuzz.oracles.values import comparison
from relaxfuzz.oracles.violation import Case

from ..snippets import run_snippet

NEVER = PassContract(name="", variants=lambda choices, mod: None).post
POSTS = {name: c.post for name, c in catalogue.items() if c.post is not NEVER}


def globals_of(code: CodeType) -> Iterator[str]:
    """Every global name that the code, or code inside it, reads."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from globals_of(constant)


def run(text: str) -> dict[str, Any]:
    """The namespace that the text makes; every name that it may ever need is in it."""
    assert "relaxfuzz" not in text.replace(twins.STRANGER, "")
    namespace: dict[str, Any] = {"__name__": __name__}
    code = compile(text, "<standalone>", "exec")
    exec(code, namespace)
    missing = {n for n in globals_of(code) if n not in namespace and not hasattr(builtins, n)}
    assert not missing
    return namespace


@pytest.mark.parametrize("name", POSTS)
def test_every_postcondition_stands_alone(name: str) -> None:
    post = POSTS[name]
    assert callable(run(standalone(post))[post.__name__])


@pytest.mark.parametrize(
    "thing", [canonical.canonical, twins.with_stranger, twins.without_stranger, twins.renamed]
)
def test_what_reproducers_use_stands_alone(thing: Any) -> None:
    assert callable(run(standalone(thing))[thing.__name__])


def test_the_text_does_what_the_original_does() -> None:
    copied = run(standalone(canonical.canonical))["canonical"]
    for index in range(5):
        mod = example(ir_modules(), 5, index)
        tvm.ir.assert_structural_equal(copied(mod), canonical.canonical(mod))


def test_a_function_made_by_another_comes_with_what_it_has_caught() -> None:
    made = _dispatched("relax.add")
    copied = run(standalone(made))[made.__name__]
    mod = example(ir_modules(), 5, 0)
    call = PassCall("DispatchSortScan()")
    assert copied(mod, mod, call) == made(mod, mod, call)


def test_two_things_of_one_name_get_two_names() -> None:
    namespace = run(standalone(catalogue["LiftTransformParams"].post, _lambda_lifted()))
    assert {"_lifted", "_lifted_2"} <= namespace.keys()


def _lambda_lifted() -> Any:
    post = catalogue["LambdaLift"].post
    assert post.__name__ == catalogue["LiftTransformParams"].post.__name__
    return post


def test_names_behind_modules_are_resolved() -> None:
    text = standalone(comparison.difference)
    assert "ml_dtypes" not in text
    assert "import numpy as np" in text
    assert "keys." not in standalone(twins.renamed, keys.comparable)


def test_classes_and_their_methods() -> None:
    mod = example(ir_modules(), 5, 1)
    copied = run(standalone(Graph))["Graph"]
    tvm.ir.assert_structural_equal(copied(mod).load(), mod)


@pytest.mark.parametrize("thing", [len, 3, "text", dict, lambda x: x])
def test_a_value_without_a_literal_raises(thing: Any) -> None:
    with pytest.raises(NotStandalone):
        standalone(thing)


def test_a_caught_value_that_is_no_literal_raises() -> None:
    with pytest.raises(NotStandalone, match="literal"):
        standalone(_dispatched(object()))  # type: ignore[arg-type]


def test_a_module_becomes_a_function() -> None:
    mod = example(ir_modules(), 5, 2)
    rebuilt = run(nested_module("twin", mod))["twin"]()
    tvm.ir.assert_structural_equal(rebuilt, mod)


@pytest.mark.parametrize(
    "expr", ["ToNonDataflow()", "LegalizeOps()", "FoldConstant()", "LiftTransformParams()"]
)
def test_the_snippet_of_a_postcondition_runs(expr: str) -> None:
    run_snippet("postcondition", Case(example(ir_modules(), 5, 3), (PassCall(expr),)))


def test_the_snippet_of_a_postcondition_fails_on_a_broken_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pass that runs is another than the one whose post-condition is asked."""
    case = Case(example(ir_modules(), 5, 3), (PassCall("ToNonDataflow()"),))
    monkeypatch.setattr(PassCall, "build", lambda call: tvm.transform.Sequential([]))
    with pytest.raises(AssertionError, match="DataflowBlock"):
        run_snippet("postcondition", case)
