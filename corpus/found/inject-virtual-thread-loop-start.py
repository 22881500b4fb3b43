# InjectVirtualThread: a loop that starts at 1

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
        for _bx in T.thread_binding(1, thread="blockIdx.x"):
            for vx in T.thread_binding(2, thread="vthread.x"):
                for i in range(1, 3):
                    B[vx] = A[vx] + i


mod = s_tir.transform.LowerOpaqueBlock()(mod)


if __name__ == "__main__":
    s_tir.transform.InjectVirtualThread()(mod)
