# TVMScript: a view of a buffer without layout, of another dtype

import os

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32", layout=None)):
        B = T.decl_buffer((4,), "int32", data=A.data, layout=None)
        B[0] = 1


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
