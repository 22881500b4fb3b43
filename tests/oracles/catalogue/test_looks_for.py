"""What contracts say that passes look for: modules of it have it, and nothing else is changed."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import pytest
import tvm
from tvm import te

from relaxfuzz.fuzz.campaign.block import regenerated
from relaxfuzz.fuzz.campaign.named import recipe
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.process.targets import Origin, Target, of_sought
from relaxfuzz.generators import tensorir as templates
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.families import DEFAULT, family_of
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.acted import acted
from relaxfuzz.oracles.catalogue import catalogue, tensorir
from relaxfuzz.oracles.keys import compiled
from relaxfuzz.oracles.pass_runs import PassRuns, attempt, digest
from relaxfuzz.oracles.passcall import bare_call

SOUGHT = {
    name: contract.looks_for
    for name, contract in catalogue.items()
    if contract.looks_for is not None
}
MADE = [name for name, sought in SOUGHT.items() if of_sought(sought).usable]
MODULES = 24


@functools.cache
def modules(stage: Stage) -> list[tvm.IRModule]:
    """Generated ones: of Relax as they are, whatever the stage, of TensorIR at the stage."""
    family = family_of(stage)
    # FuseTransposeMatmul dies of an ExternFunc: a known bug.
    settings: dict[str, Any] = {"max_functions": 2, "max_bindings": 8, "without": ["extern-funcs"]}
    if family.name != DEFAULT:
        settings["stage"] = stage
    strategy = family.modules(**settings)
    return [example(strategy, 17, index) for index in range(MODULES)]


@pytest.mark.parametrize("name", MADE)
def test_modules_made_of_it_have_it(name: str) -> None:
    sought = SOUGHT[name]
    target = Target(name, named=of_sought(sought))
    first = catalogue[name].stages[0]
    recipes = [made for number in range(120) if (made := recipe([target], 2, number, table))]
    for number, made in enumerate(recipes):
        made = replace(made, family=family_of(first).name)
        # A pass on the way may have a known bug.
        mod = attempt(regenerated, Origin(1, number, first, made)).mod
        if mod is not None and sought.has(mod):
            return
    pytest.fail(f"none of {len(recipes)} modules has what {name} looks for")


ALONE = [name for name in SOUGHT if catalogue[name].variants is None and not catalogue[name].inside]
"""Those that do nothing besides: who cleans up inside changes many modules."""


@pytest.mark.parametrize("name", ALONE)
def test_hardly_any_module_without_it_is_changed(name: str) -> None:
    others = [
        mod
        for mod in modules(catalogue[name].stages[0])
        if not SOUGHT[name].has(mod) and catalogue[name].requires(mod) is None
    ]
    outcomes = [attempt(bare_call(name).run, mod).mod for mod in others]
    # Sequences of statements in one another, as MakePackedAPI makes them, become one.
    changed = [
        after is not None and digest(after) != digest(mod) and str(after) != str(mod)
        for mod, after in zip(others, outcomes, strict=True)
    ]
    # Passes rebuild what they walk over, and infer some types anew.
    assert sum(changed) <= 0.15 * MODULES


@pytest.mark.parametrize("name", tensorir.ELEMENTWISE)
def test_what_is_spelled_is_what_modules_call(name: str) -> None:
    template = next(each for each in templates.TEMPLATES if each.name == name)
    made = templates.prim_func(template, (2, 3), "float32")
    spelled = eval(tensorir.spell(name, "(2, 3)", "float32"), {"te": te, "tvm": tvm})
    spelled = templates.private(spelled)
    assert len(spelled.params) == tensorir.inputs(name) + 1
    if name != "tir_two_steps":  # which is spelled as one step
        tvm.ir.assert_structural_equal(spelled, made)


def test_attached_code_is_a_change() -> None:
    mod = example(ir_modules(only=[]), 1, 0)
    contract = catalogue["AttachExternModules"]
    call = contract.choose(Choices(b""), mod)
    assert call is not None
    runs = PassRuns(mod, (call,), contract, alone=True)
    assert runs.direct.mod is not None
    assert compiled(runs.direct.mod) == 1
    assert runs.changed


def test_modules_made_for_it_are_folded() -> None:
    """All of its operands are constants, and the first field of the result is used."""
    contract = catalogue["FoldBatchnormToConv2D"]
    target = Target(contract.name, named=of_sought(SOUGHT[contract.name]))
    folded = 0
    for number in range(120):
        if (made := recipe([target], 2, number, table)) is None:
            continue
        mod = attempt(regenerated, Origin(2, number, Stage.RAW, made)).mod
        after = None if mod is None else attempt(bare_call(contract.name).run, mod).mod
        folded += after is not None and acted(contract, mod, after, ())
    assert folded >= 3
