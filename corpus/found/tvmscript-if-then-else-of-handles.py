# TVMScript: the choice between two handles, as MakePackedAPI makes it for every buffer, does not parse

import os

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(0)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    after = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(mod)
    after = tirx.transform.MakePackedAPI()(after)
    tvm.ir.assert_structural_equal(tvm.script.from_source(after.script(show_meta=True)), after)
