# LegalizeOps: one call on a virtual device and one like it elsewhere get two PrimFuncs with one body: 'multiple definitions of variable'

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @R.function
    def f(x: R.Tensor((2,), "float32", "llvm")) -> R.Tensor((2,), "float32", "llvm"):
        gv: R.Tensor((2,), "float32", "llvm") = R.nn.selu(x)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        gv: R.Tensor((2,), "float32") = R.nn.selu(x)
        return gv


if __name__ == "__main__":
    new, old = tvm.s_tir.analysis, tvm.tirx.analysis
    (new if hasattr(new, "verify_well_formed") else old).verify_well_formed(LegalizeOps()(mod))
