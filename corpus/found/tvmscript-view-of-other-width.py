# TVMScript: a view in a wider or a narrower dtype of a buffer without a layout does not parse

import os

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32", layout=None)):
        B = T.decl_buffer((2,), "int64", data=A.data, layout=None)
        B[0] = T.int64(0)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
