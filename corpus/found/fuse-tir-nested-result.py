# FuseTIR: a primitive function that gives back a tuple beside an element of it becomes ill-formed

from tvm import relax
from tvm.relax.transform import FuseTIR
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def two(B: T.Buffer((T.int64(2),), "float32"), C: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("two"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = T.float32(1)
                C[v] = T.float32(2)

    @R.function(private=True)
    def fused() -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))
    ):
        R.func_attr({"Primitive": True})
        cls = mod
        both = R.call_tir(
            cls.two, R.tuple(), out_ty=[R.Tensor((2,), "float32"), R.Tensor((2,), "float32")]
        )
        first: R.Tensor((2,), "float32") = both[0]
        return (first, both)

    @R.function
    def main() -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))
    ):
        cls = mod
        gv = cls.fused()
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(FuseTIR()(mod))
