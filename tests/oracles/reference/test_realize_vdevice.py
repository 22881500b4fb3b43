"""The reference of RealizeVDevice: what follows from hints and types; nothing is wrong with it."""

from __future__ import annotations

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
from relaxfuzz.generators.values import holds_function
from relaxfuzz.oracles.check import VALUES, check
from relaxfuzz.oracles.errors import NoAnswer
from relaxfuzz.oracles.inspect import bindings_of, calls_of, ops_used, relax_functions
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.reference.realize_vdevice import realize_vdevice
from relaxfuzz.oracles.violation import Case

MODULE = "relaxfuzz.oracles.reference.realize_vdevice"
REFERENCE = PassCall(
    "realize_vdevice()", factory=f"{MODULE}:realize_vdevice", like="RealizeVDevice"
)
FAULTY = PassCall(
    "mutates_input()", factory=f"{Path(__file__)}:mutates_input", like="RealizeVDevice"
)


def mutates_input() -> tvm.transform.Pass:
    return realize_vdevice(mutates_input=True)


def devices(mod: tvm.IRModule, name: str = "main") -> list[int | None]:
    """The numbers of the devices on which the parameters live."""
    return [None if p.ty.vdevice is None else p.ty.vdevice.vdevice_id for p in mod[name].params]


def documented(mod: tvm.IRModule) -> bool:
    try:
        realize_vdevice(documented_only=True)(mod)
    except NoAnswer:
        return False
    return True


def holds_functions(mod: tvm.IRModule) -> bool:
    """Whether functions are values: a tuple with one takes the device of what it returns."""
    return any(
        holds_function(var.ty)
        for _, func in relax_functions(mod)
        for var in relax.analysis.all_vars(func)
    )


@I.ir_module
class Hinted:
    """x meets a on one device; b moves to the other, where z is."""

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(
        x: R.Tensor((2,), "float32"),
        y: R.Tensor((2,), "float32"),
        z: R.Tensor((2,), "float32"),
        w: R.Tensor((2,), "float32"),
    ) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.hint_on_device(y, tvm.cpu(0))
            b = R.add(x, a)
            c = R.hint_on_device(b, tvm.cpu(1))
            gv = R.multiply(c, z)
            R.output(gv)
        return gv


def test_devices_spread_from_hints_and_hints_become_names_or_copies() -> None:
    after = realize_vdevice()(Hinted)
    assert devices(after) == [0, 0, 1, None]
    assert after["main"].ret_ty.vdevice.vdevice_id == 1
    values = [binding.value for binding in bindings_of(after["main"])]
    assert isinstance(values[0], relax.Var)
    assert [call.op.name for call in calls_of(after)] == [
        "relax.add",
        "relax.to_vdevice",
        "relax.multiply",
    ]
    assert relax.analysis.check_well_formed(after)
    assert documented(Hinted)


@I.ir_module
class Called:
    """f wants its argument on the device of its hint."""

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.hint_on_device(x, tvm.cpu(1))

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Called
        a = cls.f(x)
        b = cls.f(R.const([1.0, 2.0], "float32"))
        return R.add(a, b)


def test_arguments_live_where_functions_want_them() -> None:
    after = realize_vdevice()(Called)
    assert (devices(after, "f"), devices(after)) == ([1], [1])
    copies = calls_of(after["main"], "relax.to_vdevice")
    assert [type(call.args[0]) for call in copies] == [ir.GenericConst]
    f = after.get_global_var("f")
    assert tvm_ffi.structural_equal(f.ty, after["f"].ty)
    assert not tvm_ffi.structural_equal(f.ty, Called.get_global_var("f").ty)
    assert tvm_ffi.structural_equal(tvm.script.from_source(after.script(show_meta=True)), after)


@I.ir_module
class Contradictory:
    """x meets what lives on the one device, and what lives on the other."""

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(
        x: R.Tensor((2,), "float32"),
        y: R.Tensor((2,), "float32", "llvm:0"),
        z: R.Tensor((2,), "float32", "llvm:1"),
    ):
        a = R.add(x, y)
        b = R.add(x, z)
        return (a, b)


@I.ir_module
class InTuple:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        a = R.hint_on_device(x, tvm.cpu(0))
        t = (a, y)
        return t  # noqa: RET504  a variable on purpose


@pytest.mark.parametrize(
    ("mod", "expected"),
    [(InTuple, [0, None]), (Called, [1])],
    ids=["in-tuple", "called"],
)
def test_what_no_document_defines_stays_and_can_be_refused(
    mod: tvm.IRModule, expected: list[int | None]
) -> None:
    assert devices(realize_vdevice()(mod)) == expected
    assert not documented(mod)


def test_a_parameter_that_meets_values_of_two_devices_is_refused() -> None:
    with pytest.raises(NoAnswer, match="'x' meets values of two devices"):
        realize_vdevice()(Contradictory)


@I.ir_module
class FunctionAsValue:
    """`second` moves to another device, and with it the type of what `main` passes to `same`."""

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function(private=True)
    def same(
        f: R.Callable((R.Tensor((2,), "float32", "llvm:1"),), R.Tensor((2,), "float32", "llvm:1")),
    ) -> R.Callable((R.Tensor((2,), "float32", "llvm:1"),), R.Tensor((2,), "float32", "llvm:1")):
        return f

    @R.function(private=True)
    def second(x: R.Tensor((2,), "float32", "llvm:1")) -> R.Tensor((2,), "float32", "llvm:1"):
        hint: R.Tensor((2,), "float32", "llvm:1") = R.hint_on_device(x, R.device(1, 0))
        return hint

    @R.function
    def main() -> R.Callable(
        (R.Tensor((2,), "float32", "llvm:1"),), R.Tensor((2,), "float32", "llvm:1")
    ):
        cls = FunctionAsValue
        f: R.Callable(
            (R.Tensor((2,), "float32", "llvm:1"),), R.Tensor((2,), "float32", "llvm:1")
        ) = cls.second
        return cls.same(f)


def test_a_function_that_is_passed_and_gets_another_type_is_refused() -> None:
    with pytest.raises(NoAnswer, match="a function as a value"):
        realize_vdevice()(FunctionAsValue)


def test_a_hint_at_a_device_that_the_module_lacks_is_refused() -> None:
    mod = tvm.IRModule(
        dict(Hinted.functions_items()),
        global_infos={"vdevice": [ir.VDevice("llvm", 0, "global")]},
    )
    with pytest.raises(NoAnswer, match="no such device was found"):
        realize_vdevice()(mod)
    assert check(Case(mod, (REFERENCE,))) == []


def test_it_leaves_its_input_alone_and_agrees_with_tvm_where_documented() -> None:
    strategy = ir_modules(force=["vdevices"])
    compared = changed = 0
    for index in range(60):
        mod = example(strategy, 3, index)
        text = tvm.ir.save_json(mod)
        try:
            ours = realize_vdevice()(mod)
        except NoAnswer:  # no such device
            continue
        assert tvm.ir.save_json(mod) == text
        assert "relax.hint_on_device" not in ops_used(ours)
        if documented(mod) and not holds_functions(mod):
            compared += 1
            changed += not tvm_ffi.structural_equal(ours, mod)
            assert check(Case(mod, (PassCall("RealizeVDevice()"),)), oracles=("reference",)) == []
    assert compared > 15
    assert changed > 5


def test_the_harness_finds_nothing_wrong_with_it() -> None:
    strategy = ir_modules(force=["vdevices"])
    for index in range(30):
        assert check(Case(example(strategy, 3, index), (REFERENCE,)), besides=VALUES) == []


def copy(mod: tvm.IRModule) -> tvm.IRModule:
    return tvm.ir.load_json(tvm.ir.save_json(mod))


def test_the_fault_is_that_a_second_run_on_the_same_module_leaves_hints() -> None:
    mod = copy(Hinted)
    first = mutates_input()(mod)
    assert tvm_ffi.structural_equal(first, realize_vdevice()(Hinted))
    assert not tvm_ffi.structural_equal(mod, Hinted)
    second = tvm.transform.Sequential([mutates_input()])(mod)
    assert "relax.hint_on_device" in ops_used(second)


@pytest.mark.parametrize("oracle", ["mutation", "repeatable", "postcondition"])
def test_the_harness_finds_the_fault(oracle: str) -> None:
    (violation, *_) = check(Case(copy(Hinted), (FAULTY,)))
    assert violation.oracle == "mutation"
    violations = [
        v for seed in range(6) for v in check(Case(renumbered(seed), (FAULTY,)), oracles=[oracle])
    ]
    assert {v.oracle for v in violations} == {oracle}


def renumbered(answer: int) -> tvm.IRModule:
    """The module with another hash, on which the order of direct and Sequential depends."""
    return copy(Hinted).with_attr("answer", answer)
