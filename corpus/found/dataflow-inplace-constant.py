# DataflowUseInplaceCalls: a view of a constant is updated in place: each call of the built function finds what the one before left there

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor((6,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((6,), dtype="float32") = R.reshape(R.const([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], "float32"), R.shape([6]))
            gv: R.Tensor((6,), dtype="float32") = R.add(lv, lv)
            R.output(gv)
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(DataflowUseInplaceCalls()(mod), "llvm"), tvm.cpu())
    first, second = machine["main"]().numpy().copy(), machine["main"]().numpy()
    np.testing.assert_array_equal(second, first)
