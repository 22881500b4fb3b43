"""Functions of special form have what the passes look for that they are made for."""

from __future__ import annotations

from collections.abc import Iterator

import tvm
from tvm import relax

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.catalogue.memory import WORKSPACE
from relaxfuzz.oracles.catalogue.training import _targets
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.inspect import attr, bindings_of, relax_functions
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

MODULES = 40


def made(*traits: str, ops: tuple[str, ...] | None = None) -> Iterator[tvm.IRModule]:
    strategy = ir_modules(force=traits, only=[], ops=ops)
    return (example(strategy, 3, index) for index in range(MODULES))


def test_losses_are_differentiable_and_of_many_forms() -> None:
    losses = [mod["loss"] for mod in made("differentiable", "tuples")]
    assert sum(bool(_targets(loss)) for loss in losses) > 0.9 * MODULES
    kinds = [type(binding.value) for loss in losses for binding in bindings_of(loss)]
    assert kinds.count(relax.Tuple) >= 5
    assert kinds.count(relax.TupleGetItem) >= 10
    results = [loss.body.body for loss in losses]
    assert any(isinstance(result, relax.Tuple) for result in results)
    params = [param.ty for loss in losses for param in loss.params]
    assert any(isinstance(ty, relax.TupleType) for ty in params)


def test_functions_of_backends_may_need_a_workspace() -> None:
    modules = list(made("codegen", "function-calls"))
    asking = [
        mod
        for mod in modules
        if any(attr(func, WORKSPACE) is not None for _, func in relax_functions(mod))
    ]
    assert MODULES / 5 < len(asking) < MODULES * 4 / 5
    changed = [PassCall("AllocateWorkspace()").run(mod) for mod in called(asking)]
    assert changed
    assert any(
        isinstance(param.ty, relax.TensorType) and param.name == "workspace"
        for mod in changed
        for _, func in relax_functions(mod)
        for param in func.params
    )


def called(modules: list[tvm.IRModule]) -> Iterator[tvm.IRModule]:
    """Those that AllocateWorkspace takes: with a dataflow block around every call."""
    for mod in modules:
        try:
            PassCall("AllocateWorkspace()").run(mod)
        except tvm.error.InternalError:
            continue
        yield mod


def test_layout_rewrites_are_split_off() -> None:
    name = "SplitLayoutRewritePreproc"
    sought = catalogue[name].looks_for
    assert sought is not None
    found = [mod for mod in made("call-tir", ops=("add",)) if sought.has(mod)]
    split = [PassCall(f"{name}()").run(mod) for mod in found]
    made_of_two = [
        any(gvar.name_hint.endswith("_weight_prepack") for gvar in mod.functions) for mod in split
    ]
    assert any(made_of_two)  # the calls of others have no use
    for mod in found[:4]:
        assert not check(Case(mod, (PassCall(f"{name}()"),)), oracles=["evaluated", "crash"])
