# InternalError: Check failed: value_ty->dtype.lanes == value_expr_ty->dtype.lanes (1 vs. 2) :

from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main():
        b = T.launch_thread("blockIdx.y", T.int64(1))
        a = T.alloc_buffer((1,), "int32x2", layout=None)
        a[0] = T.Cast("int32x2", T.Broadcast(T.float16(0.0), 2))


if __name__ == "__main__":
    tirx.transform.ForceNarrowIndexToInt32()(mod)
