"""The oracle "reference": it finds what the other oracles do not, without false reports."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural import reference
from relaxfuzz.oracles.structural.reference import ReferenceFault
from relaxfuzz.oracles.violation import Case

from ..snippets import run_snippet

WITH_REFERENCE = {name: c for name, c in catalogue.items() if c.reference is not None}


@I.ir_module
class Hinted:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.hint_on_device(x, tvm.cpu(0))
        return R.exp(a)

    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return Hinted.helper(x)


def hinted() -> tvm.IRModule:
    return tvm.ir.load_json(tvm.ir.save_json(Hinted))


FAULTS = Path(__file__).with_name("reference_faults.py")


def call_of(factory: str) -> PassCall:
    return PassCall(f"{factory}()", factory=f"{FAULTS}:{factory}", like="RealizeVDevice")


def test_a_refusal_where_the_reference_refuses_is_clean() -> None:
    mod = tvm.IRModule(dict(hinted().functions_items()))
    assert check(Case(mod, (PassCall("RealizeVDevice()"),))) == []


def test_names_of_private_functions_are_up_to_the_pass() -> None:
    assert check(Case(hinted(), (call_of("renames_helpers"),)), oracles=["reference"]) == []


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_it_is_silent_on_passes_of_tvm(name: str) -> None:
    strategy = ir_modules(force=["vdevices"])
    for index in range(12):
        case = Case(example(strategy, 1, index), (PassCall(f"{name}()"),))
        assert check(case, oracles=["reference"]) == []


# A reference is trusted with nothing


def raises() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        raise KeyError("lv17")

    return tvm.transform.module_pass(transform, opt_level=0, name="Raises")


def does_nothing() -> tvm.transform.Pass:
    return tvm.transform.module_pass(lambda mod, context: mod, opt_level=0, name="DoesNothing")


def drops_functions() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        functions = {g: f for g, f in mod.functions_items() if g.name_hint != "helper"}
        return tvm.IRModule(functions, global_infos=mod.global_infos)

    return tvm.transform.module_pass(transform, opt_level=0, name="DropsFunctions")


def against(made: tvm.transform.Pass | None) -> PassContract:
    return dataclasses.replace(catalogue["RealizeVDevice"], reference=lambda call: made)


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        (raises(), "The reference of RealizeVDevice raises"),
        (drops_functions(), "is not defined"),
        (does_nothing(), "relax.hint_on_device is left"),
    ],
    ids=lambda thing: str(thing.info.name) if isinstance(thing, tvm.transform.Pass) else None,
)
def test_a_fault_of_the_reference_is_no_finding_but_loud(
    made: tvm.transform.Pass, complaint: str
) -> None:
    case = Case(hinted(), (PassCall("RealizeVDevice()"),))
    with pytest.raises(ReferenceFault, match=complaint):
        check(case, oracles=["reference"], contract=against(made))


# Reproducers


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        ("copies_at_every_hint", "StructuralEqual check failed"),
        ("refuses_every_hint", "The target VDevice"),
    ],
)
def test_the_snippet_fails_on_the_fault(factory: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        run_snippet("reference", Case(hinted(), (call_of(factory),)))


def test_sizes_in_types_are_left_out_of_the_comparison_devices_are_not() -> None:
    device = ir.VDevice("llvm", 0, "global")

    def module(ty: relax.TensorType) -> tvm.IRModule:
        x = relax.Var("x", ty)
        return tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], x), ty)})

    known, unknown, placed = (
        reference._coarse(module(ty))
        for ty in (
            relax.TensorType((2, 3), "float32"),
            relax.TensorType(dtype="float32", ndim=2),
            relax.TensorType((2, 3), "float32", device),
        )
    )
    assert tvm_ffi.structural_equal(known, unknown, map_free_vars=True)
    assert not tvm_ffi.structural_equal(known, placed, map_free_vars=True)


def test_a_call_inside_of_a_match_cast_may_get_a_variable() -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    rank = relax.TensorType(dtype="float32", ndim=1)
    cast, other = relax.Var("cast", rank), relax.Var("other", x.ty)

    def casting(op: str, *, in_place: bool) -> tvm.IRModule:
        call = relax.BlockBuilder().normalize(getattr(relax.op, op)(x))
        value = call if in_place else other
        bindings: list[relax.Binding] = [relax.MatchCast(cast, value, rank)]
        if not in_place:
            bindings.insert(0, relax.VarBinding(other, call))
        body = relax.SeqExpr([relax.BindingBlock(bindings)], cast)
        return tvm.IRModule({"main": relax.Function([x], body, rank)})

    def alike(a: tvm.IRModule, b: tvm.IRModule) -> bool:
        return bool(tvm_ffi.structural_equal(reference._coarse(a), reference._coarse(b)))

    assert alike(casting("exp", in_place=True), casting("exp", in_place=False))
    assert not alike(casting("exp", in_place=True), casting("sin", in_place=False))
