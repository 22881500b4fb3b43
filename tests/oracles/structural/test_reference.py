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
from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract, Reference
from relaxfuzz.oracles.errors import NoAnswer
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.reference.realize_vdevice import realize_vdevice
from relaxfuzz.oracles.structural import reference
from relaxfuzz.oracles.structural.reference import DIFFERENT, REFUSED, ReferenceFault
from relaxfuzz.oracles.text.standalone import standalone
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


def call_of(factory: str, like: str = "RealizeVDevice") -> PassCall:
    return PassCall(f"{factory}()", factory=f"{FAULTS}:{factory}", like=like)


def test_violations_of_the_reference_alone() -> None:
    (violation,) = check(Case(hinted(), (call_of("copies_at_every_hint"),)))
    assert (violation.oracle, violation.pass_name) == ("reference", "copies_at_every_hint")
    assert violation.key == (DIFFERENT,)


def test_a_refusal_where_there_is_a_result() -> None:
    (violation,) = check(Case(hinted(), (call_of("refuses_every_hint"),)))
    assert violation.oracle == "reference"
    assert violation.key[:2] == (REFUSED, "ValueError")


def test_a_refusal_where_the_reference_refuses_is_clean() -> None:
    mod = tvm.IRModule(dict(hinted().functions_items()))
    assert check(Case(mod, (PassCall("RealizeVDevice()"),))) == []


def test_a_broken_postcondition_is_reported_once() -> None:
    case = Case(hinted(), (call_of("leaves_hints"),))
    assert [v.oracle for v in check(case)] == ["postcondition"]
    assert check(case, oracles=["reference"]) == []


def test_names_of_private_functions_are_up_to_the_pass() -> None:
    assert check(Case(hinted(), (call_of("renames_helpers"),)), oracles=["reference"]) == []


def test_the_reference_sees_the_module_as_it_was() -> None:
    case = Case(hinted(), (call_of("realizes_in_place"),))
    assert check(case, oracles=["reference"]) == []
    assert [v.oracle for v in check(Case(hinted(), case.calls))] == ["mutation"]


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_it_is_silent_on_passes_of_tvm(name: str) -> None:
    traits = {"RealizeVDevice": "vdevices", "AttachGlobalSymbol": "system-lib-prefix"}
    strategy = ir_modules(force=[traits[name]] if name in traits else [])
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


def has_no_answer() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        raise NoAnswer("who knows")

    return tvm.transform.module_pass(transform, opt_level=0, name="HasNoAnswer")


def drops_functions() -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        functions = {g: f for g, f in mod.functions_items() if g.name_hint != "helper"}
        return tvm.IRModule(functions, global_infos=mod.global_infos)

    return tvm.transform.module_pass(transform, opt_level=0, name="DropsFunctions")


def against(made: tvm.transform.Pass | None, *, unique: bool = True) -> PassContract:
    return dataclasses.replace(
        catalogue["RealizeVDevice"], reference=Reference(lambda call: made, unique=unique)
    )


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


def test_no_answer_means_nothing() -> None:
    for made in (has_no_answer(), None):
        for factory in ("copies_at_every_hint", "refuses_every_hint"):
            case = Case(hinted(), (call_of(factory),))
            assert check(case, oracles=["reference"], contract=against(made)) == []


def test_where_there_are_several_right_results_only_a_refusal_is_wrong() -> None:
    contract = against(realize_vdevice(), unique=False)
    case = Case(hinted(), (call_of("copies_at_every_hint"),))
    assert check(case, oracles=["reference"], contract=contract) == []
    (violation,) = check(Case(hinted(), (call_of("refuses_every_hint"),)), contract=contract)
    assert violation.key[0] == REFUSED


# Reproducers


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_every_reference_stands_alone(name: str) -> None:
    reference = WITH_REFERENCE[name].reference
    assert reference is not None
    text = standalone(reference.make)
    assert "relaxfuzz" not in text
    namespace: dict[str, object] = {"__name__": __name__}
    exec(compile(text, name, "exec"), namespace)
    make = namespace[reference.make.__name__]
    assert callable(make)
    assert isinstance(make(PassCall(f"{name}()")), tvm.transform.Pass)


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


@pytest.mark.parametrize("call", [PassCall("RealizeVDevice()"), call_of("renames_helpers")])
def test_the_snippet_passes_on_a_correct_pass(call: PassCall) -> None:
    run_snippet("reference", Case(hinted(), (call,)))


def test_a_snippet_that_runs_here_does_not_change_what_no_answer_is() -> None:
    run_snippet("reference", Case(hinted(), (PassCall("RealizeVDevice()"),)))
    with pytest.raises(NoAnswer):
        has_no_answer()(hinted())


def test_the_fault_of_attach_global_symbol_is_another_result() -> None:
    contract = dataclasses.replace(
        catalogue["AttachGlobalSymbol"], post=lambda before, after, call: None
    )
    call = call_of("leaves_global_vars", like="AttachGlobalSymbol")
    mod = hinted().with_attr("system_lib_prefix", "lib_")
    assert check(Case(mod, (call,)), oracles=["reference"], contract=contract) == []
    mod = relax.transform.LegalizeOps()(mod)
    (violation,) = check(Case(mod, (call,)), oracles=["reference"], contract=contract)
    assert violation.key[0] == DIFFERENT


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
