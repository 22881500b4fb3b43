# DecomposeOpsForTraining: layer_norm along an axis that is not the last: gamma, of shape (3,), is multiplied with a tensor of shape (2, 3, 4)

import tvm
from tvm import relax
from tvm.relax.transform import DecomposeOpsForTraining
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32"), gamma: R.Tensor((3,), "float32")):
        with R.dataflow():
            gv = R.nn.layer_norm(x, gamma, gamma, axes=[1])
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    DecomposeOpsForTraining()(mod)
