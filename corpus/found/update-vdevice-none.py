# UpdateVDevice: on a module without virtual devices it fails with a KeyError that names neither the module nor the index

import tvm
from tvm import relax
from tvm.relax.transform import UpdateVDevice
from tvm.script import ir as I, relax as R

VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice  # moved in TVM 0.27


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x


def apply(mod):
    return UpdateVDevice(VDevice("llvm", 2, "shared"), 0)(mod)


if __name__ == "__main__":
    apply(mod)
