# LegalizeOps makes a float32 result of a float16 batch_norm

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
