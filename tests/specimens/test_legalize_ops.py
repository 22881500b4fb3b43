"""A right LegalizeOps: what it makes and refuses, and that nothing is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.inspect import ops_used, prim_funcs
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case
from tests.specimens.modelled.legalize_ops import CannotLower, legalize_ops

FACTORY = "tests.specimens.modelled.legalize_ops:legalize_ops"
REFERENCE = PassCall("legalize_ops()", factory=FACTORY, like="LegalizeOps")
FAULTY = PassCall(
    "silent_legalize_ops()", factory=f"{Path(__file__)}:silent_legalize_ops", like="LegalizeOps"
)


def silent_legalize_ops() -> tvm.transform.Pass:
    return legalize_ops(skips_in_silence=True)


@I.ir_module
class Simple:
    @R.function(private=True)
    def helper(x: R.Tensor((2, 6), "float32")) -> R.Tensor((2, 6), "float32"):
        return R.exp(x)

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 6), "float32")) -> R.Tuple(
        R.Tensor((2, 6), "float32"), R.Tensor((2, 6), "float32")
    ):
        cls = Simple
        if c:  # noqa: SIM108  TVMScript
            y = R.add(x, R.const(1.0, "float32"))
        else:
            y = cls.helper(x)
        z = R.sort(R.nn.softmax(y))
        return (y, z)


@I.ir_module
class Unknown:
    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        return R.negative(R.exp(x))


@I.ir_module
class Packed:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor("int64", ndim=2):
        with R.dataflow():
            y = R.nonzero(R.add(x, x))
            R.output(y)
        return y


@I.ir_module
class Devices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((2, 3), "float32", "llvm:1"), y: R.Tensor((2, 3), "float32")) -> R.Tuple(
        R.Tensor((2, 3), "float32", "llvm:1"), R.Tensor((2, 3), "float32")
    ):
        return (R.exp(x), R.exp(y))


def reference(mod: tvm.IRModule) -> tvm.IRModule:
    return REFERENCE.run(mod)


def theirs(mod: tvm.IRModule) -> tvm.IRModule:
    with tvm.target.Target("llvm"):
        return relax.transform.LegalizeOps()(mod)


@pytest.mark.parametrize("mod", [Simple, Packed], ids=["branches", "packed"])
def test_it_does_what_the_pass_of_tvm_does(mod: tvm.IRModule) -> None:
    made = reference(mod)
    assert relax.analysis.check_well_formed(made)
    assert tvm_ffi.structural_equal(made, theirs(mod), map_free_vars=True)


def test_a_kernel_is_made_for_the_device_of_its_result() -> None:
    targets = [func.attrs.get("target") for _, func in prim_funcs(reference(Devices))]
    assert sorted(target is None for target in targets) == [False, True]


def test_it_refuses_what_nobody_lowers() -> None:
    # The file of a specimen is executed under another name than this test imports.
    with pytest.raises(Exception, match="Cannot lower") as raised:
        reference(Unknown)
    assert type(raised.value).__name__ == CannotLower.__name__
    message = "Cannot lower relax.exp in function main: unknown shape (the shape of argument 0 (x))"
    assert str(raised.value).splitlines()[0] == f"{message}, and 1 more"
    assert check(Case(Unknown, (REFERENCE,))) == []


def test_with_the_fault_it_leaves_it_in_silence() -> None:
    assert ops_used(silent_legalize_ops()(Unknown)) == {"relax.exp", "relax.negative"}
    found = check(Case(Unknown, (FAULTY,)))
    assert [(v.oracle, v.pass_name, v.key) for v in found] == [
        ("lowering-complete", "silent_legalize_ops", ("relax.exp", "unknown shape")),
        ("lowering-complete", "silent_legalize_ops", ("relax.negative", "unknown shape")),
    ]
