# FuseTIR: a primitive function that is public has a tuple as its parameter: 'All tuple parameters should be expanded before this point'

import tvm
from tvm import relax
from tvm.relax.transform import FuseTIR
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def exp(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            B[i] = T.exp(A[i])

    @R.function
    def fused(t: R.Tuple(R.Tensor((2,), "float32"))) -> R.Tensor((2,), "float32"):
        R.func_attr({"Primitive": True})
        cls = mod
        with R.dataflow():
            x = t[0]
            gv = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseTIR()(mod)
