# RewriteDataflowReshape: expand_dims of a tensor with an extent of zero: 'IndexError: Index 2 out of bounds 2'

import tvm
from tvm import relax
from tvm.relax.transform import RewriteDataflowReshape
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3, 0), "float16")) -> R.Tensor((1, 3, 0), "float16"):
        with R.dataflow():
            lv = R.expand_dims(x, 0)
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv


mod = relax.transform.LegalizeOps()(mod)


def apply(mod):
    return RewriteDataflowReshape()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
