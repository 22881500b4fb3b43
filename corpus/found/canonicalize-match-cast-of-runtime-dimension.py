# CanonicalizeBindings: a match_cast is kept for a dimension n that a call takes as a number, but n becomes the constant in the types behind it

from tvm import relax
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def copy(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in T.serial(n):
            Y[i] = X[i]

    @T.prim_func(private=True)
    def fill(n: T.int64, y: T.handle):
        Y = T.match_buffer(y, (n,), "float32")
        for i in T.serial(n):
            Y[i] = T.float32(0)

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        n = T.int64()
        cls = mod
        v = R.match_cast(x, R.Tensor((n,), "float32"))
        y = R.call_tir(cls.copy, (v,), out_ty=R.Tensor((n,), "float32"))
        z = R.call_tir(cls.fill, (n,), out_ty=R.Tensor((n,), "float32"))
        return (y, z)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(CanonicalizeBindings()(mod))
