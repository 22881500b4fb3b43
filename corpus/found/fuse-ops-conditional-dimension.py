# FuseOps: a dimension with a condition in it, as LegalizeOps makes for strided_slice up to a symbolic end, in calls that are fused: 'Cannot find the FInferType attribute registered to op: prim.if_then_else'

import tvm
from tvm import relax
from tvm.relax.transform import AnnotateTIROpPattern, FuseOps, LegalizeOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32"), size: R.Shape(["n"])) -> R.Tensor("float32", ndim=1):
        n = T.int64()
        with R.dataflow():
            part = R.strided_slice(x, axes=[0], begin=[0], end=[n])
            exponential = R.exp(part)
            gv = R.nn.relu(exponential)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    with tvm.target.Target("llvm"):
        legalized = AnnotateTIROpPattern()(LegalizeOps()(mod))
    relax.analysis.well_formed(legalized)
    FuseOps()(legalized)
