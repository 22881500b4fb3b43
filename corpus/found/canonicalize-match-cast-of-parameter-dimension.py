# CanonicalizeBindings: a match_cast of a constant shape replaces a parameter's symbolic dimension, but not in the parameter

from tvm import relax
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def copy(x: T.handle, y: T.handle):
        k = T.int64()
        X = T.match_buffer(x, (k,), "float32")
        Y = T.match_buffer(y, (k,), "float32")
        for i in T.serial(k):
            Y[i] = X[i]

    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor(("k",), "float32")):
        k = T.int64()
        v = R.match_cast(x, R.Tensor((k,), "float32"))
        cls = mod
        z = R.call_tir(cls.copy, (y,), out_ty=R.Tensor((k,), "float32"))
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(CanonicalizeBindings()(mod))
