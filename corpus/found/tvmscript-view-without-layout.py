# TVMScript: a view of another dtype of a buffer without a layout

import os

import tvm
from tvm import tirx

A = tirx.decl_buffer([4], "float32", "A", layout=None)
B = tirx.decl_buffer([4], "int32", "B", layout=None)
pointer = tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global")
data = tvm.ir.Call("tirx.buffer_data", [A], ret_ty=pointer)
body = tirx.SeqStmt([tirx.AllocBuffer(A), tirx.DeclBuffer(B, data=data)])
mod = tvm.IRModule({"main": tirx.PrimFunc([], body).with_attr("global_symbol", "main")})

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
