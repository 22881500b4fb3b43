# TVMScript: a view of one element of a buffer without dimensions, as FlattenBuffer makes it, does not parse

import os

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((), "float32")):
        A[()] = T.float32(0)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    after = tirx.transform.FlattenBuffer()(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(after.script(show_meta=True)), after)
