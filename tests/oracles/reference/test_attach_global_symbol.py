"""The reference of AttachGlobalSymbol: every name and every use of it; nothing is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.check import VALUES, check
from relaxfuzz.oracles.inspect import attr, global_vars
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.reference.attach_global_symbol import attach_global_symbol
from relaxfuzz.oracles.violation import Case

MODULE = "relaxfuzz.oracles.reference.attach_global_symbol"
REFERENCE = PassCall(
    "attach_global_symbol()", factory=f"{MODULE}:attach_global_symbol", like="AttachGlobalSymbol"
)
FAULTY = PassCall(
    "leaves_global_vars()", factory=f"{Path(__file__)}:leaves_global_vars", like=REFERENCE.like
)


def leaves_global_vars() -> tvm.transform.Pass:
    return attach_global_symbol(leaves_global_vars=True)


@I.ir_module
class Library:
    """A PrimFunc that is called from Relax, from a local function and from TensorIR."""

    I.module_attrs({"system_lib_prefix": "lib_"})

    @T.prim_func(private=True, s_tir=True)
    def zero(x: T.Buffer((2,), "float32")):
        x[0] = T.float32(0)
        x[1] = T.float32(0)

    @T.prim_func(s_tir=True)
    def twice(x: T.Buffer((2,), "float32")):
        Library.zero(x.data)

    @R.function(private=True)
    def helper() -> R.Tensor((2,), "float32"):
        cls = Library

        @R.function
        def local() -> R.Tensor((2,), "float32"):
            return R.call_tir(cls.zero, (), R.Tensor((2,), "float32"))

        return local()

    @R.function
    def main() -> R.Tensor((2,), "float32"):
        cls = Library
        lv = R.call_tir(cls.zero, (), R.Tensor((2,), "float32"))
        lv1 = cls.helper()
        return R.add(lv, lv1)


def names(mod: tvm.IRModule) -> dict[str, str | None]:
    return {gvar.name_hint: attr(func, "global_symbol") for gvar, func in mod.functions_items()}


def test_without_a_prefix_functions_keep_their_names() -> None:
    after = attach_global_symbol()(Library.without_attr("system_lib_prefix"))
    assert names(after) == {name: name for name in ("zero", "twice", "helper", "main")}


def test_the_prefix_is_put_before_prim_funcs_public_ones_included() -> None:
    after = attach_global_symbol()(Library)
    assert names(after) == {n: n for n in ("lib_zero", "lib_twice", "helper", "main")}


def test_all_uses_follow() -> None:
    after = attach_global_symbol()(Library)
    uses = {
        gvar.name_hint: [used.name_hint for used in global_vars(func)]
        for gvar, func in after.functions_items()
    }
    assert uses == {
        "lib_zero": [],
        "lib_twice": ["lib_zero"],
        "helper": ["lib_zero"],
        "main": ["lib_zero", "helper"],
    }
    assert all(
        after.get_global_var(used.name_hint).same_as(used)
        for func in after.functions.values()
        for used in global_vars(func)
    )
    assert relax.analysis.check_well_formed(after)


def test_uses_in_attributes_follow() -> None:
    zero = Library.get_global_var("zero")
    functions = dict(Library.functions_items())
    main = Library.get_global_var("main")
    functions[main] = functions[main].with_attr("kernel", zero)
    after = attach_global_symbol()(tvm.IRModule(functions, attrs=Library.attrs))
    assert attr(after["main"], "kernel").same_as(after.get_global_var("lib_zero"))


def test_types_of_global_vars_stay() -> None:
    after = attach_global_symbol()(Library)
    before = Library.get_global_var("zero")
    assert tvm_ffi.structural_equal(after.get_global_var("lib_zero").ty, before.ty)


def test_an_external_function_has_its_symbol() -> None:
    external = GlobalVar("name_here")
    functions = {**dict(Library.functions_items()), external: relax.ExternFunc("name_there")}
    after = attach_global_symbol()(tvm.IRModule(functions, attrs=Library.attrs))
    assert tvm_ffi.structural_equal(after["name_here"], functions[external])


def test_a_codegen_function_keeps_its_name() -> None:
    helper = Library.get_global_var("helper")
    functions = dict(Library.functions_items())
    functions[helper] = functions[helper].with_attr("Codegen", "dnnl")
    after = attach_global_symbol()(tvm.IRModule(functions, attrs=Library.attrs))
    assert attr(after["helper"], "global_symbol") == "helper"


def test_what_a_prefix_makes_collides_with_no_other_name() -> None:
    empty = tirx.PrimFunc([], ir.Evaluate(0))
    taken = Library["main"].without_attr("global_symbol")
    mod = tvm.IRModule(
        {
            GlobalVar("f"): empty,
            GlobalVar("lib_f"): empty,
            GlobalVar("lib_lib_f"): relax.ExternFunc("g"),
            **dict(Library.functions_items()),
            GlobalVar("lib_twice"): taken,
        },
        attrs=Library.attrs,
    )
    after = attach_global_symbol()(mod)
    assert len(after.functions) == len(mod.functions)
    assert {n: s for n, s in names(after).items() if n.startswith("lib_")} == {
        "lib_f": "lib_f",
        "lib_lib_f": None,
        "lib_lib_f_1": "lib_lib_f_1",
        "lib_zero": "lib_zero",
        "lib_twice": "lib_twice",
        "lib_twice_1": "lib_twice_1",
    }
    assert isinstance(after["lib_twice"], relax.Function)


@pytest.mark.parametrize("stage", [Stage.RAW, Stage.LEGALIZED])
def test_it_agrees_with_tvm_and_leaves_its_input_alone(stage: Stage) -> None:
    # TVM gives the body of a function of numbers another type, whatever the pass does.
    strategy = ir_modules(force=["system-lib-prefix"], without=["numbers"], stage=stage)
    compared = 0
    for index in range(12):
        mod = example(strategy, 3, index)
        text = tvm.ir.save_json(mod)
        ours = attach_global_symbol()(mod)
        assert tvm.ir.save_json(mod) == text
        try:
            theirs = relax.transform.AttachGlobalSymbol()(mod)
        except TypeError:  # calls that give a pointer: a bug of TVM
            continue
        compared += 1
        assert tvm_ffi.structural_equal(ours, theirs)
    assert compared > 6


@pytest.mark.parametrize("traits", [(), ("system-lib-prefix",)])
def test_the_harness_finds_nothing_wrong_with_it(traits: tuple[str, ...]) -> None:
    strategy = ir_modules(force=traits)
    for index in range(20):
        assert check(Case(example(strategy, 5, index), (REFERENCE,)), besides=VALUES) == []


def test_the_fault_is_that_calls_keep_the_old_name() -> None:
    after = leaves_global_vars()(Library)
    assert names(after)["zero"] == "lib_zero"
    assert {used.name_hint for used in global_vars(after["main"])} == {"zero", "helper"}


def test_the_harness_finds_the_fault() -> None:
    (violation,) = check(Case(Library, (FAULTY,)))
    assert violation.oracle == "well-formed"
    assert "global_symbol of a PrimFunc" in violation.title
