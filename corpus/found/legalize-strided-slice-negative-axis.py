# LegalizeOps: strided_slice along a negative axis of a tensor with a symbolic dimension
#
# pass: LegalizeOps
# oracle: crash
# fingerprint: ["crash", "LegalizeOps", "InternalError", "Check failed: axis < src_tensor_dim:"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: axis < src_tensor_dim:
# promise: docstring of LegalizeOps: 'Legalize high-level operator calls in Relax functions to call_tir'; tests/python/relax/test_transform_legalize_ops_index_linear_algebra.py (test_strided_slice_negative_axes) legalizes axes=[-1]

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("m", 3), "float32")) -> R.Tensor(("m", 2), "float32"):
        with R.dataflow():
            gv = R.strided_slice(x, axes=(-1,), begin=(1,), end=(3,))
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
