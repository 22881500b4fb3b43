# TVMScript: the extent of a region that a block reads is simplified when it is read

import tvm
from tvm import s_tir, tirx

# Before TVM 0.27 they were in tirx.
home = s_tir if hasattr(s_tir, "SBlock") else tirx
n = tirx.Var("n", "int64")
A = tirx.decl_buffer((8,), "float32", "A", layout=None)
region = tirx.BufferRegion(A, [tvm.ir.Range.from_min_extent(n, n + 3 - n)])
block = home.SBlock([], [region], [], "read", tirx.Evaluate(A[n]))
root = home.SBlock([], [], [], "root", home.SBlockRealize([], True, block))
func = tirx.PrimFunc([n, A], home.SBlockRealize([], True, root))
mod = tvm.IRModule({"main": func.with_attrs({"global_symbol": "main", "s_tir": True})})

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
