# LegalizeOps: the result of a convolution on a virtual device is on none

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(
        x: R.Tensor((2, 2), "float32"), y: R.Tensor((2, 2, 2, 2), "float32", "llvm:0")
    ) -> R.Tuple(R.Tensor((2, 2, 1, 1), "float32", "llvm:0"), R.Tensor("float32", ndim=2)):
        n = T.int64()
        gv = R.nn.conv2d(y, y)
        gv1 = R.match_cast(x, R.Tensor((n, 2), "float32"))
        return (gv, gv1)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    with tvm.target.Target("llvm"):
        result = LegalizeOps()(mod)
    before, after = (m["main"].ret_ty.fields[0].vdevice for m in (mod, result))
    assert after == before, f"the result is on {after}, expected {before}"
