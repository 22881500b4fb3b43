"""TVMScript reads a region of extent 1 back with an extent of another type.

The printer leaves the extent out, and the parser gives it the type of the index.
"""

import tvm
from tvm import s_tir, tirx

PASSES = "tirx.AnnotateEntryFunc --oracle tvmscript"
NOT = ("tvmscript-prim-value-dtype",)
KIND = "round trip"


def module():
    n = tirx.Var("n", "int32")
    a = tirx.decl_buffer((8,), "float32", "A", layout=None)
    region = tirx.BufferRegion(a, [tvm.ir.Range.from_min_extent(n, tirx.IntImm("int64", 1))])
    block = s_tir.SBlock([], [region], [], "read", tirx.Evaluate(a[n]))
    root = s_tir.SBlock([], [], [], "root", s_tir.SBlockRealize([], True, block))
    func = tirx.PrimFunc([n, a], s_tir.SBlockRealize([], True, root))
    return tvm.IRModule({"main": func.with_attrs({"global_symbol": "main", "s_tir": True})})
