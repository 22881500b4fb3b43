# SplitHostDevice: a variable of the host in the shape of a buffer

from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), n: T.int32):
        T.func_attr({"target": T.target({"kind": "vulkan", "host": {"kind": "llvm"}})})
        size: T.let[T.int32] = n * 2
        A1 = T.decl_buffer((size,), "int32", data=A.data, layout=None)
        tx = T.launch_thread("threadIdx.x", 32)
        A1[tx] = 1


if __name__ == "__main__":
    after = tirx.transform.SplitHostDevice()(mod)
    s_tir.analysis.verify_well_formed(after)
