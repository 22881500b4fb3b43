# ForceNarrowIndexToInt32: threads of a symbolic number

from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), n: T.int64):
        bx = T.launch_thread("blockIdx.x", n * T.int64(2))
        A[bx] = T.float32(0)


if __name__ == "__main__":
    after = tirx.transform.ForceNarrowIndexToInt32()(mod)
    s_tir.analysis.verify_well_formed(after)
