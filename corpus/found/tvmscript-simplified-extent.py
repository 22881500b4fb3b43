# TVMScript: the extent of a loop is simplified when it is read

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32", layout=None), n: T.int32):
        for i, j in T.grid(n + 3 - n, 1):
            A[i + j] = T.float32(0)


outer = mod["main"].body
body = tvm.tirx.For(outer.loop_var, outer.min, outer.extent, tvm.tirx.ForKind.PARALLEL, outer.body)
mod = tvm.IRModule({"main": mod["main"].with_body(body)})

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
