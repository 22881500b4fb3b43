# TVMScript: a variable of three lanes

import os

import tvm
from tvm import tirx

value = tirx.Broadcast(tirx.const(0.0, "float64"), 3)
body = tirx.Bind(tirx.Var("v", "float64x3"), value)
mod = tvm.IRModule({"main": tirx.PrimFunc([], body).with_attr("global_symbol", "main")})

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
