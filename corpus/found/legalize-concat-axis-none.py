# LegalizeOps: concat with axis None raises "Cannot convert from type `None` to `int`"
#
# pass: LegalizeOps
# oracle: crash
# fingerprint: ["crash", "LegalizeOps", "TypeError", "Cannot convert from type `None` to `int`"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: TypeError: Cannot convert from type `None` to `int`
# promise: docstring of relax.op.concat: 'If `axis` is `None`, the input tensor is required to be flattened before concatenation': None is a documented value; docstring of LegalizeOps: 'Legalize high-level operator calls'

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            gv = R.concat((x, x), axis=None)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
