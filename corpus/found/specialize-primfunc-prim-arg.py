# SpecializePrimFuncBasedOnCallSite: a call_tir with an argument that is no tensor: 'Expected Tensor struct Info'

import tvm
from tvm import relax
from tvm.relax.transform import SpecializePrimFuncBasedOnCallSite
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def fill(n: T.int64, a: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m,), "float32")
        for i in range(m):
            A[i] = T.Cast("float32", n)

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return R.call_tir(mod.fill, (n,), out_ty=R.Tensor((n,), "float32"))


def apply(mod):
    return SpecializePrimFuncBasedOnCallSite()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
