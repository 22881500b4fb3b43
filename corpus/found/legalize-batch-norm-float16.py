# LegalizeOps makes a float32 result of a float16 batch_norm
#
# pass: LegalizeOps
# oracle: well-formed
# fingerprint: ["well-formed", "LegalizeOps", "ill-formed", "Operator-specific validation (FValidate) for <node> identified error: Argument <n> type mismatch: expected <node>, given <node>", ""]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: Operator-specific validation (FValidate) for <node> identified error: Argument <n> type mismatch: expected <node>, given <node>
# promise: docstring of LegalizeOps: 'returns the legalized call', in place of one whose type is float16 (InferTypeBatchNorm: the dtype of the data); well-formed checker

import tvm
from tvm import relax, topi
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((1, 2, 4, 4), "float16"))
scale, shift, mean, variance = (relax.Var(n, R.Tensor((2,), "float16")) for n in "abmv")
bb = relax.BlockBuilder()
with bb.function("main", [x, scale, shift, mean, variance]):
    normed = bb.emit(relax.op.nn.batch_norm(x, scale, shift, mean, variance, axis=1))
    bb.emit_func_output(bb.emit_te(topi.nn.relu, bb.emit(relax.TupleGetItem(normed, 0))))
mod = bb.get()
relax.analysis.well_formed(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(LegalizeOps()(mod))
