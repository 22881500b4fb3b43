# StorageRewrite: a second name of a buffer that is not accessed

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main():
        S = T.alloc_buffer((1,), "int32", layout=None)
        _S2 = T.decl_buffer((1,), "int32", data=S.data, layout=None)


if __name__ == "__main__":
    tirx.transform.StorageRewrite()(mod)
