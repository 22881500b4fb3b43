# LoopPartition: a bound that is a variable of the loop's body

import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(8):
            t: T.let[T.int32] = n * 2
            if T.likely(i < t):
                A[i] = 7


if __name__ == "__main__":
    with tvm.transform.PassContext(config={"s_tir.LoopPartition": {"partition_const_loop": True}}):
        after = s_tir.transform.LoopPartition()(mod)
    s_tir.analysis.verify_well_formed(after)
