# nll_loss_backward reads the weight of targets that are to be ignored

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        upper: R.Tensor((), "float32"),
        predictions: R.Tensor((3, 2), "float32"),
        targets: R.Tensor((3,), "int64"),
        weights: R.Tensor((2,), "float32"),
    ) -> R.Tensor((3, 2), "float32"):
        with R.dataflow():
            gv = R.grad.nll_loss_backward(
                upper, predictions, targets, weights, reduction="mean", ignore_index=-100
            )
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    machine = relax.VirtualMachine(relax.build(mod, "llvm", relax_pipeline="default"), tvm.cpu())

    # The weights are the last two numbers of an array of which the others must not matter.
    memory = np.full(256, np.nan, "float32")
    begin = 128 + -memory[128:].ctypes.data % 64 // 4
    memory[begin : begin + 2] = 1
    weights = tvm.runtime.from_dlpack(memory[begin : begin + 2])
    args = [np.array(1, "float32"), np.zeros((3, 2), "float32"), np.array([0, -100, 1])]
    actual = machine["main"](*map(tvm.runtime.tensor, args), weights).numpy()
    np.testing.assert_allclose(actual, [[-0.5, 0], [0, 0], [0, -0.5]], atol=1e-6)
