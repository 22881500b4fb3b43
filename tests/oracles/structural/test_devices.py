"""Devices: results of kernels stay where they were; passes that move them are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat import ir
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.violation import Case
from tests.specimens.table import SPECIMENS


@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((2, 3), "float32", "llvm:1")) -> R.Tensor((2, 3), "float32", "llvm:1"):
        with R.dataflow():
            y: R.Tensor((2, 3), "float32", "llvm:1") = R.add(x, x)
            gv: R.Tensor((2, 3), "float32", "llvm:1") = R.multiply(y, y)
            R.output(gv)
        return gv


def claiming() -> tvm.IRModule:
    """A function whose signature claims a device that its body does not give."""
    device = ir.VDevice("llvm", 0, "global")
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    y = relax.Var("y", relax.TensorType((3,), "float32"))
    claimed = relax.TupleType(
        [
            relax.TensorType((2,), "float32", vdevice=device),
            relax.TensorType(None, "float32", ndim=1),
        ]
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        made = builder.emit(relax.op.call_pure_packed("f", x, ty_args=[x.ty]))
        builder.emit_func_output(relax.Tuple([made, y]))
    main = builder.get()["main"]
    main = relax.Function([x, y], main.body, claimed).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": main}, global_infos={"vdevice": [device]})


UNTOUCHED = save_json(Module)
"""UpdateVDevice changes the devices of a module in place."""

USER = Path(__file__).parents[2] / "fuzz/user_passes.py"

FORGETS = SPECIMENS["shares_output_shapes"].call

UPDATES = PassCall(f"UpdateVDevice({ir.spelling(ir.VDevice)}('llvm', 2, 'global'), 1)")


def legalized() -> tvm.IRModule:
    with tvm.target.Target("llvm"):
        return relax.transform.LegalizeOps()(Module)


def test_a_device_that_is_forgotten_is_seen() -> None:
    case = Case(legalized(), (FORGETS,))
    (violation,) = check(case, oracles=["devices"])
    assert violation.key == ("a kernel gives its result on another virtual device, or on none",)


@pytest.mark.parametrize("call", [PassCall("FuseOps()"), PassCall("CallTIRRewrite()"), UPDATES])
def test_devices_that_stay_or_are_to_change_are_left_alone(call: PassCall) -> None:
    case = Case(legalized(), (call,))
    assert check(case, oracles=["devices"]) == []


def test_a_device_that_a_public_function_loses_is_seen() -> None:
    case = Case(load_json(UNTOUCHED), (PassCall("forgets_type()", factory=f"{USER}:forgets_type"),))
    (violation,) = check(case, oracles=["devices"])
    assert violation.title.startswith("a public function takes or gives a tensor on another")


def test_a_device_that_only_the_signature_claims_is_nothing_to_keep() -> None:
    call = PassCall("CallTIRRewrite()")
    assert call.run(claiming())["main"].ret_ty.fields[0].vdevice is None
    with answers() as given:
        assert check(Case(claiming(), (call,)), oracles=["devices"]) == []
    assert [each.rule for each in given["devices"].silences] == ["overstated"]
