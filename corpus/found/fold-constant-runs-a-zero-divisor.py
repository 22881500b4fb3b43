# FoldConstant: it runs a PrimFunc that divides integers by zero, and the process dies

from tvm.relax.transform import FoldConstant
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class mod:
    @T.prim_func(private=True)
    def mod2(A: T.Buffer((T.int64(1), T.int64(2), T.int64(1)), "int64", layout=None), B: T.Buffer((T.int64(1), T.int64(2), T.int64(1)), "int64", layout=None), T_mod: T.Buffer((T.int64(1), T.int64(2), T.int64(1)), "int64", layout=None)):
        T_mod[T.int64(0), T.int64(0), T.int64(0)] = T.truncmod(A[T.int64(0), T.int64(0), T.int64(0)], B[T.int64(0), T.int64(0), T.int64(0)])

    @R.function
    def main() -> R.Tensor((1, 2, 1), dtype="int64"):
        cls = mod
        gv = R.call_tir(cls.mod2, (R.const([[[1], [1]]], "int64"), R.const([[[0], [0]]], "int64")), out_ty=R.Tensor((1, 2, 1), dtype="int64"))
        return gv

if __name__ == "__main__":
    FoldConstant()(mod)
