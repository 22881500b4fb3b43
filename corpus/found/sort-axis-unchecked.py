# FoldConstant: sort of a scalar along axis 1: Axis out of boundary

from tvm.relax.transform import FoldConstant
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def sort(data_buf: T.Buffer((), "float32", layout=None), out_buf: T.Buffer((), "float32", layout=None)):
        T.call_packed("tvm.contrib.sort.sort", T.tvm_stack_make_array(data_buf.data, T.tvm_stack_make_shape(), 0, 0, T.float32(0.0), T.int64(0)), T.tvm_stack_make_array(out_buf.data, T.tvm_stack_make_shape(), 0, 0, T.float32(0.0), T.int64(0)), 1, T.bool(True))

    @R.function
    def main() -> R.Tensor((), dtype="float32"):
        cls = mod
        gv = R.call_tir(cls.sort, (R.const(1.0, "float32"),), out_ty=R.Tensor((), dtype="float32"))
        return gv


if __name__ == "__main__":
    FoldConstant()(mod)
