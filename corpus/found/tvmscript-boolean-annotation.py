# TVMScript: an annotation that is true or false

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Given:
    @T.prim_func
    def main():
        S = T.alloc_buffer((2,), "float32", scope="local")
        S[0] = T.float32(0)


func = Given["main"]
alloc, *rest = func.body.seq
marked = tirx.AllocBuffer(alloc.buffer, {"tirx.volatile": True})
mod = tvm.IRModule({"main": func.with_body(tirx.SeqStmt([marked, *rest]))})

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
