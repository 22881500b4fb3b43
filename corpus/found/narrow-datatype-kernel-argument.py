# NarrowDataType: inside of a kernel it narrows the argument that says of which dtype an array is

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "int64")):
        bx = T.launch_thread("blockIdx.x", 1)
        T.evaluate(
            T.call_packed(
                "tvm.contrib.sort.argsort",
                T.tvm_stack_make_array(
                    A.data, T.tvm_stack_make_shape(9), 0, 1, T.float32(0), T.int64(0)
                ),
                T.tvm_stack_make_array(
                    B.data, T.tvm_stack_make_shape(9), 0, 1, T.int64(0), T.int64(0)
                ),
                -1,
                True,
            )
        )


if __name__ == "__main__":
    after = tirx.transform.NarrowDataType(32)(mod)
    assert "T.int64(0)" in after.script(), "B has elements of int64, and is passed on as int32"
