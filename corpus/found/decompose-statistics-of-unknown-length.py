# DecomposeOpsForInference: batch_norm of a variance of unknown length: the result's shape is forgotten

from tvm.relax import analysis
from tvm.relax.transform import DecomposeOpsForInference
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 3, 4, 4), "float32"),
        scale: R.Tensor((3,), "float32"),
        variance: R.Tensor("float32", ndim=1),
    ):
        n = T.int64()
        gv = R.nn.batch_norm(x, scale, scale, scale, variance, axis=1, training=False)
        gv1 = gv[0]
        gv2 = R.match_cast(scale, R.Tensor((n,), "float32"))
        return (gv1, gv2)


if __name__ == "__main__":
    before, after = mod["main"], DecomposeOpsForInference()(mod)["main"]
    known = analysis.type_base_check(before.ret_ty, after.ret_ty)
    assert int(known) == 3, f"returned {before.ret_ty}, returns {after.ret_ty}"
