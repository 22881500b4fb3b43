# relax.build: a PrimFunc that calls fmod does not build for the CPU: 'unknown intrinsic'

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.sblock("b"):
                vi = T.axis.spatial(3, i)
                B[vi] = T.fmod(A[vi], T.float32(2))

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = mod
        y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((3,), "float32"))
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.build(mod, "llvm")
