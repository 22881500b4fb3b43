# LoopPartition: a part of one iteration of a loop over int64

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((7,), "float32"), B: T.Buffer((7,), "float32")):
        for i in range(T.int64(7)):
            if T.likely(i < T.int64(6)):
                B[i] = A[i]
            else:
                B[i] = T.float32(0)


if __name__ == "__main__":
    options = {"s_tir.LoopPartition": {"partition_const_loop": True}}
    with tvm.transform.PassContext(config=options):
        result = s_tir.transform.LoopPartition()(mod)
    sums = []
    tvm_ffi.structural_walk(result["main"], (tirx.Add, sums.append))
    for each in sums:
        assert each.a.ty == each.b.ty, f"{each.a.ty} and {each.b.ty} in {each}"
