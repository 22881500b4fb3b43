# TVMScript: the extent of a region is simplified when it is read

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32", layout=None), n: T.int32):
        with T.sblock("root"):
            T.reads()
            T.writes()
            with T.sblock("zero"):
                T.reads()
                T.writes(A[0:3])
                A[n] = T.float32(0)


func = mod["main"]
root = func.body.block
zero = root.body.block
n = func.params[1]
region = tirx.BufferRegion(zero.writes[0].source, [tvm.ir.Range.from_min_extent(0, n + 3 - n)])
zero = tvm.s_tir.SBlock([], [], [region], "zero", zero.body)
root = tvm.s_tir.SBlock([], [], [], "root", tvm.s_tir.SBlockRealize([], True, zero))
mod = tvm.IRModule({"main": func.with_body(tvm.s_tir.SBlockRealize([], True, root))})

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
