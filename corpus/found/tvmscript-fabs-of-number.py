# TVMScript: fabs of a number

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        A[0] = T.fabs(T.Cast("float32", T.int64(0)))


mod = tirx.transform.StmtSimplify()(Module)

if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
