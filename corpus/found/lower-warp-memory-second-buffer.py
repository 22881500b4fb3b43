# tirx.LowerWarpMemory: two buffers of a warp, allocated one after the other

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target({"kind": "cuda", "arch": "sm_80"}, host="llvm")})
        bx = T.launch_thread("blockIdx.x", 1)
        V = T.alloc_buffer((32,), scope="warp")
        W = T.alloc_buffer((32,), scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        V[tx] = A[tx]
        W[tx] = V[31 - tx]
        B[tx] = W[(tx + 1) % 32]


mod = Module

if __name__ == "__main__":
    after = tirx.transform.LowerWarpMemory()(mod)
    tvm.ir.assert_structural_equal(tirx.transform.LowerWarpMemory()(after), after)
