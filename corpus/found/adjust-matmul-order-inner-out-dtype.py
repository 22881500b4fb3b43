# AdjustMatmulOrder: x*(A*B), where A*B has an out_dtype, becomes (x*A)*B of unlike dtypes
#
# pass: AdjustMatmulOrder
# oracle: crash
# fingerprint: ["crash", "AdjustMatmulOrder", "TypeError", "Binary operators must have the same datatype for both operands. However, <node> uses datatype <node> on the LHS <list>, and datatype <node> on the RHS <list>."]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: TypeError: Binary operators must have the same datatype for both operands. However, <node> uses datatype <node> on the LHS <list>, and datatype <node> on the RHS <list>.
# promise: docstring: 'Reorder `x*(A*B)` to `(x*A)*B`'; docstring of relax.op.matmul, out_dtype: 'The data type of the matmul result'; docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'

from tvm import relax
from tvm.relax.transform import AdjustMatmulOrder
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((1, 8), "float32"),
        a: R.Tensor((8, 2), "float16"),
        b: R.Tensor((2, 8), "float16"),
    ) -> R.Tensor((1, 8), "float32"):
        weight = R.matmul(a, b, out_dtype="float32")
        y = R.matmul(x, weight)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    AdjustMatmulOrder()(mod)
