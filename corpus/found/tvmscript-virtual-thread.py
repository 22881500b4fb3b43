# TVMScript: a virtual thread

import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((2,), "float32")):
        for vx in T.thread_binding(2, thread="vthread.x"):
            with T.sblock("block"):
                A[vx] = T.float32(1)


mod = s_tir.transform.LowerOpaqueBlock()(s_tir.transform.ConvertBlocksToOpaque()(Module))

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
