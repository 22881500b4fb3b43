# NarrowDataType: one number as an index and as a value

import tvm
from tvm import tirx


def func(index, value):
    A = tirx.decl_buffer((tirx.const(1, "int64"),), "int64", "A", layout=None)
    store = tirx.BufferStore(A, tirx.Max(A[index], value), [tirx.const(0, "int64")])
    return tirx.PrimFunc([A], store).with_attr("global_symbol", "main")


zero = tirx.const(0, "int64")
mod = tvm.IRModule({"main": func(zero, zero)})
apart = tvm.IRModule({"main": func(tirx.const(0, "int64"), tirx.const(0, "int64"))})

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(mod, apart)
    narrow = tirx.transform.NarrowDataType(32)
    tvm.ir.assert_structural_equal(narrow(mod), narrow(apart))
