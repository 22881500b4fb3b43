# StorageRewrite: a statement that stands twice in the body, as UnrollLoop makes it

from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(B: T.Buffer((4,), "int32")):
        count = T.alloc_buffer((1,), "int32", scope="local")
        for i in T.unroll(2):
            count[0] = 0
        B[0] = count[0]


mod = tirx.transform.UnrollLoop()(Module)

if __name__ == "__main__":
    tirx.transform.StorageRewrite()(mod)
