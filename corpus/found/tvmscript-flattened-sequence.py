# TVMScript: a statement without effect behind another one

import tvm
from tvm import tirx

A = tirx.decl_buffer((4,), "int32", "A", layout=None)
body = tirx.SeqStmt([tirx.BufferStore(A, 1, [0]), tirx.Evaluate(0)])
func = tirx.PrimFunc([A], body).with_attr("global_symbol", "main")
mod = tvm.IRModule({"main": func})

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
