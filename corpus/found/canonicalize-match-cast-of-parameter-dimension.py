# CanonicalizeBindings: a match_cast of a constant shape replaces a parameter's symbolic dimension, but not in the parameter
#
# pass: CanonicalizeBindings
# oracle: well-formed
# fingerprint: ["well-formed", "CanonicalizeBindings", "ill-formed", "Operator-specific validation (FValidate) for <node> identified error: Check failed: (IsBaseOf(inferred_ty.value(), explicit_ty)) is false: The `out_ty` argument for R.call_tir must be compatible with", ""]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: ValueError: Operator-specific validation (FValidate) for <node> identified error: Check failed: (IsBaseOf(inferred_ty.value(), explicit_ty)) is false: The `out_ty` argument for <node> must be compatible with the
# promise: docstring of relax.analysis.well_formed: 'Check if the IRModule is well formed'; src/relax/op/op.cc (FValidate of call_tir): 'The `out_ty` argument for R.call_tir must be compatible with the PrimFunc'

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
