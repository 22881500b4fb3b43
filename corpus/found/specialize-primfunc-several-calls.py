# SpecializePrimFuncBasedOnCallSite: a PrimFunc that is called with two shapes gets those of the last call, and refuses the other

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import SpecializePrimFuncBasedOnCallSite
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def add_one(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i] + T.float32(1)

    @R.function
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = mod
        gv = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((4,), "float32"))
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = mod
        gv = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((2,), "float32"))
        return gv


if __name__ == "__main__":
    result = SpecializePrimFuncBasedOnCallSite()(mod)
    for module in (mod, result):
        vm = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
        for name, size in (("f", 4), ("main", 2)):
            x = tvm.runtime.tensor(np.zeros(size, "float32"))
            np.testing.assert_array_equal(vm[name](x).numpy(), np.ones(size, "float32"))
