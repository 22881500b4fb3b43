# tirx.build(pipeline="adreno"): any kernel for Adreno

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            with T.sblock("copy"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]


target = tvm.target.Target({"kind": "opencl", "device": "adreno"}, host="llvm")
mod = tirx.transform.BindTarget(target)(Module)

if __name__ == "__main__":
    tirx.build(mod, target, pipeline="adreno")
