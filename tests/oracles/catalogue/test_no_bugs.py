"""Modules of which passes were blamed wrongly: no promise is broken there."""

from __future__ import annotations

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.catalogue.rules import exponentials
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case


@I.ir_module
class UnusedStorage:
    """What is never used has no last use, in a local function either."""

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        @R.function
        def local(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            s = R.memory.alloc_storage(R.shape([128]), 0, "global", "float32")  # noqa: F841
            return a

        return local


@I.ir_module
class TanOfIntegers:
    """The dtype is hidden by the type of the private function."""

    @R.function(private=True)
    def f(x: R.Tensor) -> R.Tensor:
        return x

    @R.function
    def main(x: R.Tensor((2, 2), "int64")) -> R.Tensor:
        cls = TanOfIntegers
        y: R.Tensor = cls.f(x)
        z: R.Tensor = R.tan(y)
        return z


@I.ir_module
class PublicGroup:
    """As a group, it may become a private PrimFunc, without the parameter that it does not use."""

    @T.prim_func(private=True, s_tir=True)
    def nothing(out: T.Buffer((T.int64(2),), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes()
            T.evaluate(0)

    @R.function
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Primitive": True})
        cls = PublicGroup
        return R.call_tir(cls.nothing, R.tuple(), out_ty=R.Tensor((2,), "float32"))

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = PublicGroup
        gv: R.Tensor((2,), "float32") = cls.f(x)
        return gv


@I.ir_module
class NegativeSize:
    """No argument has this shape."""

    @R.function
    def main(x: R.Tensor((2, 2), "float32"), y: R.Tensor((-1,), "float32")):
        return R.grad.nll_loss_backward(y, x, R.const([1, 1], "int64"))


@I.ir_module
class UpdatedInPlace:
    """What `x` holds after the update is not for others to see."""

    @T.prim_func(private=True, s_tir=True)
    def clear(a: T.Buffer((T.int64(2),), "float32")):
        for i in range(1):
            with T.sblock("clear"):
                vi = T.axis.spatial(1, i)
                a[vi] = T.float32(0)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):
        cls = UpdatedInPlace
        with R.dataflow():
            y = R.call_tir_inplace(  # noqa: F841
                cls.clear, (x,), out_ty=R.Tensor((2,), "float32"), inplace_indices=[0]
            )
            z = R.sum(x)
            R.output(z)
        return z


@pytest.mark.parametrize(
    ("mod", "name", "oracle"),
    [
        (UpdatedInPlace, "Gradient", "gradient"),
        (PublicGroup, "FuseTIR", "evaluated"),
        (NegativeSize, "LegalizeOps", "crash"),
        (UnusedStorage, "KillAfterLastUse", "postcondition"),
        (TanOfIntegers, "InlinePrivateFunctions", "crash"),
    ],
)
def test_no_promise_is_broken(mod: tvm.IRModule, name: str, oracle: str) -> None:
    arguments = "'main'" if name == "Gradient" else ""
    assert check(Case(mod, (PassCall(f"{name}({arguments})"),)), oracles=[oracle]) == []


@I.ir_module
class UsedStorage:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        s = R.memory.alloc_storage(R.shape([128]), 0, "global", "float32")
        t = R.memory.alloc_tensor(s, 0, R.shape([2]), "float32")  # noqa: F841
        return x


def test_what_is_used_has_to_be_killed() -> None:
    call = PassCall("KillAfterLastUse()")
    post = catalogue["KillAfterLastUse"].post
    assert post is not None
    killed = tvm.relax.transform.KillAfterLastUse()(UsedStorage)
    assert post(UsedStorage, killed, call) is None
    assert post(UsedStorage, UsedStorage, call) == "an allocated tensor or storage is never killed"


@I.ir_module
class ShapeParameter:
    @R.function
    def main(s: R.Shape(ndim=2)):
        x = R.full(s, R.const(1.0, "float32"))
        y = R.exp(x)
        z = R.exp(x)
        return (y, z)


def test_a_shape_that_is_a_variable_is_no_match() -> None:
    rewriter = tvm.relax.dpl.PatternMatchingRewriter.from_pattern(*exponentials())
    assert "R.split" not in rewriter(ShapeParameter).script()
