# UpdateVDevice: only the types of some expressions are updated: those of unused parameters, in tuples, and the arguments of operators keep the old device

import tvm
from tvm import relax
from tvm.relax.transform import UpdateVDevice
from tvm.script import ir as I, relax as R

VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice  # moved in TVM 0.27


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32", "llvm:0"):
        return R.to_vdevice(x, "llvm:0")


def apply(mod):
    return UpdateVDevice(VDevice("llvm", 2, "shared"), 0)(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
