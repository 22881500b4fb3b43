# LowerAllocTensor: a tensor that builtin.alloc_tensor allocates on a virtual device is on none

import tvm
from tvm import relax
from tvm.relax.transform import LowerAllocTensor
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(
        dtype="float32", ndim=1, vdevice="llvm:0"
    ):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        z: R.Tensor((n,), "float32", "llvm:0") = R.builtin.alloc_tensor(
            R.shape([n]), R.dtype("float32"), 0, R.str("global")
        )
        return z


def apply(mod):
    with tvm.target.Target("llvm"):
        return LowerAllocTensor()(mod)


if __name__ == "__main__":
    before, after = mod["main"].ret_ty, apply(mod)["main"].ret_ty
    assert before.vdevice is not None
    assert after.vdevice == before.vdevice, f"{after}, expected {before}"
