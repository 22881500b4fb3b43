# RewriteDataflowReshape: a dataflow block calls a PrimFunc without a root block

from tvm.relax.transform import RewriteDataflowReshape
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class mod:
    @T.prim_func(private=True)
    def copy(X: T.Buffer((T.int64(2),), "float32"), Y: T.Buffer((T.int64(2),), "float32")):
        Y[T.int64(0)] = X[T.int64(0)]

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="int64"):
        cls = mod
        with R.dataflow():
            lv = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((2,), dtype="float32"))
            R.output()
        return R.const([1, 1], "int64")

if __name__ == "__main__":
    RewriteDataflowReshape()(mod)
