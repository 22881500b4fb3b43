# s_tir.LiftThreadBinding: two loops over the threads of one axis, with variables of int32 and int64

import os

import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for i in T.thread_binding(32, thread="threadIdx.x"):
                A[i] = T.float32(0)
            for j in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                B[j + T.int64(32)] = T.float32(0)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    after = s_tir.transform.LiftThreadBinding()(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(after.script(show_meta=True)), after)
