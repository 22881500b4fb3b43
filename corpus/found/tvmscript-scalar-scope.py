# TVMScript: a number in global memory

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        total = T.alloc_buffer((1,), "int32", scope="global")
        total[0] = 1
        A[0] = total[0]


if __name__ == "__main__":
    parsed = tvm.script.from_source(mod.script())
    (scope, again) = (each["main"].body.seq[0].buffer.scope() for each in (mod, parsed))
    assert again == scope, f"it is in {again} memory now"
