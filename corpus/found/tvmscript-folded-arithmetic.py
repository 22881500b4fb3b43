# TVMScript: the minimum of two numbers, as every function of the script that computes, is folded when it is read

import tvm
from tvm import tirx
from tvm.script import tirx as T

n = tirx.Var("n", "int64")
B = tirx.decl_buffer((2,), "int64", "B", layout=None)
numbers = tirx.Min(T.int64(0), T.int64(0))
value = tirx.Add(numbers, tirx.Min(n, T.int64(3)))
func = tirx.PrimFunc([n, B], tirx.BufferStore(B, value, [T.int64(0)]))
mod = tvm.IRModule({"main": func.with_attr({"global_symbol": "main", "s_tir": True})})

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
