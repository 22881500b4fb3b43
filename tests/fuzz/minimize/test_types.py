"""Types become plain and known ones where nothing needs them to be others."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.types import (
    drop_devices,
    known_types,
    plain_dtypes,
)
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import bindings_of, calls_of

Written = Callable[[str], tvm.IRModule]


def always(mod: tvm.IRModule) -> bool:
    return True


def types(mod: tvm.IRModule) -> list[str]:
    """The types of the parameters of main, then those of its bindings."""
    variables = (*mod["main"].params, *(binding.var for binding in bindings_of(mod)))
    return [str(var.ty).removeprefix("R.Tensor") for var in variables]


UNKNOWN = """
@R.function
def main(x: R.Tensor(ndim=2), y: R.Tensor("float16"), z: R.Tuple(R.Tensor, R.Tensor((7,)))):
    lv = R.exp(x)
    lv1: R.Tensor = R.sin(lv)
    return lv1
"""


def test_what_is_open_becomes_known(written: Written) -> None:
    small = minimize(written(UNKNOWN), always, reductions=(known_types,))
    known = '((2, 3), dtype="float32")'
    assert [types(small)[i] for i in (0, 1, 3, 4)] == [
        known,
        '((2, 3), dtype="float16")',
        known,
        known,
    ]
    fields = small["main"].params[2].ty.fields
    assert [str(field.shape) for field in fields] == ["R.shape([2, 3])", "R.shape([7])"]


SQUARE = """
@R.function
def main(x: R.Tensor("float32", ndim=2)):
    lv = R.permute_dims(x)
    lv1 = R.matmul(R.add(x, lv), lv)
    return lv1
"""


def test_a_shape_becomes_known_that_has_to_fit_its_transpose(written: Written) -> None:
    small = minimize(written(SQUARE), always, reductions=(known_types,))
    assert set(types(small)) == {'((2, 2), dtype="float32")'}


DTYPES = """
@T.prim_func(private=True, s_tir=True)
def double(A: T.Buffer((T.int64(2),), "float16"), B: T.Buffer((T.int64(2),), "float16")):
    for i in range(T.int64(2)):
        with T.sblock("double"):
            v = T.axis.spatial(T.int64(2), i)
            B[v] = A[v] * T.float16(2)

@R.function
def main(x: R.Tensor((2,), "float16"), y: R.Tensor((2,), "int8"), c: R.Tensor((2,), "bool")):
    cls = Module
    lv = R.call_tir(cls.double, (x,), out_ty=R.Tensor((2,), "float16"))
    lv1 = R.add(lv, R.const([1, 2], "float16"))
    lv2 = R.astype(y, "float64")
    lv3 = R.zeros(R.shape([2]), "int8")
    lv4 = R.where(c, lv3, y)
    return lv4
"""


def test_dtypes_become_float32_everywhere(written: Written) -> None:
    small = minimize(written(DTYPES), always, reductions=(plain_dtypes,))
    assert flaw(small) is None
    plain = '((2,), dtype="float32")'
    assert types(small) == [plain, plain, '((2,), dtype="bool")', *[plain] * 5]
    assert str(calls_of(small, "relax.add")[0].args[1].value.dtype) == "float32"
    assert "float16" not in small.script()


def test_bits_of_floats_are_not_made(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2,), "uint8"), y: R.Tensor((2,), "float16")):
        z = R.bitwise_or(x, x)
        u = R.exp(y)
        return z
    """)
    small = minimize(mod, always, reductions=(plain_dtypes,))
    dtypes = [str(param.ty.dtype.dtype) for param in small["main"].params]
    assert dtypes == ["int64", "float32"]


def placed(names: list[str]) -> tvm.IRModule:
    """A function whose parameters are on these devices, and one device more."""
    devices = [ir.VDevice("llvm", i) for i in range(len(names) + 1)]
    params = [
        relax.Var(name, relax.TensorType((2,), "float32", vdevice))
        for name, vdevice in zip(names, devices, strict=False)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(params[0])
    mod = builder.get()
    return tvm.IRModule(dict(mod.functions_items()), global_infos={"vdevice": devices})


def test_devices_go() -> None:
    small = minimize(placed(["x", "y"]), always, reductions=(drop_devices,))
    assert not small.global_infos
    assert all(param.ty.vdevice is None for param in small["main"].params)


def test_a_device_that_is_named_stays_listed() -> None:
    def names(mod: tvm.IRModule) -> bool:
        return mod["main"].params[1].ty.vdevice is not None

    small = minimize(placed(["x", "y"]), names, reductions=(drop_devices,))
    assert [device.vdevice_id for device in small.global_infos["vdevice"]] == [1]


def test_a_device_that_a_call_names_stays_listed() -> None:
    devices = [ir.VDevice("llvm", i) for i in range(2)]
    param = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [param]):
        builder.emit_func_output(builder.emit(relax.op.to_vdevice(param, devices[1])))
    functions = dict(builder.get().functions_items())
    mod = tvm.IRModule(functions, global_infos={"vdevice": devices})
    small = minimize(
        mod, lambda mod: bool(calls_of(mod, "relax.to_vdevice")), reductions=(drop_devices,)
    )
    assert [device.vdevice_id for device in small.global_infos["vdevice"]] == [1]
