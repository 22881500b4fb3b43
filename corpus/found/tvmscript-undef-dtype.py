# TVMScript: an undefined value that is no int32

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((2,), "float32")):
        A[0] = T.call_intrin("float32", "tirx.undef")


if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
