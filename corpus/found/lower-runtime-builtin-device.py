# LowerRuntimeBuiltin: the tensor of R.memory.alloc_tensor loses its virtual device

from tvm.relax.transform import LowerRuntimeBuiltin
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0, "global")]})

    @R.function
    def main(x: R.Shape([2])) -> R.Tensor(dtype="float32", ndim=1, vdevice="llvm:0"):
        n = T.int64()
        s: R.Shape([n]) = R.match_cast(x, R.Shape([n]))
        y: R.Tensor((n,), "float32", vdevice="llvm:0") = R.memory.alloc_tensor(x, 0, R.shape([n]), R.dtype("float32"), 0)
        return y


if __name__ == "__main__":
    before, after = (each["main"].ret_ty for each in (mod, LowerRuntimeBuiltin()(mod)))
    assert after.vdevice == before.vdevice, f"returned {before}, returns {after}"
