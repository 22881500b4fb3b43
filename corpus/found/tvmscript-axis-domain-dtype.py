# TVMScript: a block axis from 0 of int32 to an extent of int64, as te.compute makes it, starts at 0 of int64 when read

import tvm
from tvm import te
from tvm.script import tirx as T

x = te.placeholder((T.int64(2),), "float32", name="x")
mod = tvm.IRModule({"main": te.create_prim_func([x, te.compute(x.shape, lambda i: x[i] + 1)])})


if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
