# TVMScript: threads whose number a pass has changed

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1,), "float32"), n: T.int64):
        bx = T.launch_thread("blockIdx.x", (n * T.int64(3) + T.int64(255)) // T.int64(256))
        if bx < n * T.int64(3):
            A[0] = T.float32(0)


mod = tirx.transform.CommonSubexprElim()(Module)

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
