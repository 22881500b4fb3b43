# UpdateVDevice: the types of the variables of the input module are overwritten

import tvm
from tvm import relax
from tvm.relax.transform import UpdateVDevice
from tvm.script import ir as I, relax as R

VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice  # moved in TVM 0.27


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor((4,), "float32", "llvm:0")) -> R.Tensor((4,), "float32", "llvm:0"):
        return x


def apply(mod):
    return UpdateVDevice(VDevice("llvm", 2, "shared"), 0)(mod)


if __name__ == "__main__":
    before = tvm.ir.save_json(mod)
    apply(mod)
    assert tvm.ir.save_json(mod) == before, "the input module is changed in place"
