"""What a pass of TVM refuses inside of another pass: the module, or what that pass made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

FILE = Path(__file__).parent / "faults.py"


@I.ir_module
class Constant:
    @T.prim_func(private=True, s_tir=True)
    def kernel(
        a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32"), c: T.Buffer((2,), "float32")
    ):
        for i in range(2):
            with T.sblock("add"):
                v = T.axis.spatial(2, i)
                c[v] = a[v] + b[v]

    @R.function(private=True)
    def group(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Constant
        with R.dataflow():
            y = R.call_tir(
                cls.kernel,
                (x, R.const([1.0, 2.0], "float32")),
                out_ty=R.Tensor((2,), "float32"),
            )
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Constant
        with R.dataflow():
            y = cls.group(x)
            R.output(y)
        return y


def grouped() -> tvm.IRModule:
    mod = Constant.clone()
    mod["group"] = mod["group"].with_attr("Primitive", True)
    return mod


@I.ir_module
class Floor:
    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            y = R.floor(x)
            R.output(y)
        return y


@I.ir_module
class Exp:
    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y


@I.ir_module
class Kernel:
    @T.prim_func
    def kernel(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = T.exp(a[i])


def targeted() -> tvm.IRModule:
    mod = Kernel.clone()
    mod["kernel"] = mod["kernel"].with_attr("target", tvm.target.Target("llvm"))
    return mod


def crashes(factory: str, mod: tvm.IRModule) -> list[str]:
    call = PassCall(f"{factory}()", factory=f"{FILE}:{factory}")
    return [violation.pass_name for violation in check(Case(mod, (call,)), oracles=["crash"])]


@pytest.mark.parametrize(
    ("factory", "mod"),
    [
        ("runs_fuse_tir", grouped()),
        ("groups_what_has_constants", grouped()),
        ("differentiates", Floor),
        ("lowers_intrinsics", Kernel),
    ],
)
def test_a_pass_inside_may_refuse_the_module(factory: str, mod: tvm.IRModule) -> None:
    """By its contract: a rejection that it lists, or a precondition that the module lacks."""
    assert crashes(factory, mod) == []


@pytest.mark.parametrize(
    ("factory", "mod"),
    [
        ("groups_what_has_constants", Constant),
        ("refuses_like_fuse_tir", grouped()),
        ("floors_and_differentiates", Exp),
        ("lowers_intrinsics_for_no_target", targeted()),
        ("raises", grouped()),
    ],
)
def test_it_does_not_excuse_what_the_pass_has_done(factory: str, mod: tvm.IRModule) -> None:
    assert crashes(factory, mod) == [factory]


@pytest.mark.parametrize(
    ("factory", "mod"),
    [
        ("runs_fuse_tir", Constant),
        ("differentiates", Exp),
        ("lowers_intrinsics", targeted()),
    ],
)
def test_where_nothing_is_refused_nothing_is_excused(factory: str, mod: tvm.IRModule) -> None:
    PassCall(f"{factory}()", factory=f"{FILE}:{factory}").run(mod)
    assert crashes(factory, mod) == []


def test_several_oracles_ask_once() -> None:
    """The pass that raises runs again to see what runs inside of it: once for both oracles."""
    factory = "runs_fuse_tir"
    call = PassCall(f"{factory}()", factory=f"{FILE}:{factory}")
    contract = PassContract(
        name=factory,
        variants=lambda choices, mod: call,
        reference=PassCall.build,
    )
    steps: list[str] = []
    assert check(Case(grouped(), (call,)), contract=contract, journal=steps.append) == []
    assert steps.count("reference") == 1
    assert steps.count("watched") == 1
