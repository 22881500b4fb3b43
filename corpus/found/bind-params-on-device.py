# BindParams: the constant for a parameter on a virtual device is on none, and no argument any more

import numpy as np
from tvm.relax.transform import BindParams
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0, "global")]})

    @R.function(private=True)
    def layer(x: R.Tensor((2, 2), "float32", "llvm:0")) -> R.Tensor((2, 2), "float32", "llvm:0"):
        return x

    @R.function
    def main(w: R.Tensor((2, 2), "float32", "llvm:0")) -> R.Tensor((2, 2), "float32", "llvm:0"):
        cls = mod
        gv: R.Tensor((2, 2), "float32", "llvm:0") = cls.layer(w)
        return gv


if __name__ == "__main__":
    BindParams("main", {"w": np.ones((2, 2), "float32")})(mod)
