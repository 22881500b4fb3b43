# RewriteDataflowReshape: expand_dims of a tensor with an extent of zero: 'IndexError: Index 2 out of bounds 2'
#
# pass: RewriteDataflowReshape
# oracle: crash
# fingerprint: ["crash", "RewriteDataflowReshape", "IndexError", "Index <n> out of bounds <n>"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: IndexError: Index <n> out of bounds <n>
# promise: docstring: "Convert all reshape-like call_tir ...; 'reshape-like' includes reshape, expand_dims, flatten, etc."; docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'

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
