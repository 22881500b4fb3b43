# LowerAllocTensor: a tensor that is allocated on a virtual device has none after the pass, and does not fit the parameter of the function that it is passed to

from tvm.relax.transform import LowerAllocTensor
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "mtriple": "x86_64-conda-linux-gnu", "tag": ""}, 0, "global")]})
    @R.function(private=True)
    def inner(x: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global")) -> R.Tensor((2,), dtype="float32", vdevice="llvm:0:global"):
        return x

    @R.function
    def main() -> R.Tensor((2,), dtype="float32", vdevice="llvm:0:global"):
        cls = mod
        a: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global") = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), 0, R.str("global"))
        b: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global") = cls.inner(a)
        return b


if __name__ == "__main__":
    LowerAllocTensor()(mod)
