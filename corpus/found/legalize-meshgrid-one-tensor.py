# LegalizeOps: meshgrid of one tensor is no tuple any more
#
# pass: LegalizeOps
# oracle: signature
# fingerprint: ["signature", "LegalizeOps", "the result of a public function has another type, since relax.meshgrid has"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: AssertionError: expected a tuple
# promise: src/relax/op/tensor/manipulate.cc, type inference of meshgrid: a tuple with a tensor for each operand; include/tvm/ir/function.h, kGlobalSymbol: 'we can always refer to it by the symbol name'

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.meshgrid((x,), indexing="ij")
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    result = LegalizeOps()(mod)["main"].body.body
    ty = getattr(result, "ty", None) or result.struct_info
    assert type(ty).__name__.startswith("Tuple"), f"expected a tuple but got {ty}"
