# SplitHostDevice: a variable of the host in the domain of a thread axis

from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1,), "float32"), n: T.int64):
        T.func_attr({"target": T.target({"kind": "vulkan", "host": {"kind": "llvm"}})})
        bx = T.launch_thread("blockIdx.x", (n * T.int64(3) + T.int64(255)) // T.int64(256))
        if bx < n * T.int64(3):
            A[0] = T.float32(0)


mod = tirx.transform.CommonSubexprElim()(Module)

if __name__ == "__main__":
    s_tir.analysis.verify_well_formed(tirx.transform.SplitHostDevice()(mod))
