# RemoveNoOp: a buffer without dimensions

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(B: T.Buffer((), "int32")):
        B[()] = B[()]


if __name__ == "__main__":
    tirx.transform.RemoveNoOp()(mod)
