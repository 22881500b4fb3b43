# RealizeVDevice: two tensors that a local function returns in a tuple count as on one device, and a parameter that no operator relates to the other gets its device

import tvm
from tvm import relax
from tvm.relax.transform import RealizeVDevice
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        @R.function
        def both(a: R.Tensor((2,), "float32")) -> R.Tuple(
            R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
        ):
            return (y, x)

        z = R.hint_on_device(x, R.device("cpu", 1))
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    x, y = RealizeVDevice()(mod)["main"].params
    assert x.ty.vdevice is not None
    assert y.ty.vdevice is None, f"y is on {y.ty.vdevice}"
