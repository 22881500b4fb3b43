# not_equal of NaN and any number is False

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")
    ) -> R.Tuple(R.Tensor((3,), "bool"), R.Tensor((3,), "bool")):
        with R.dataflow():
            same = R.equal(x, y)
            other = R.not_equal(x, y)
            gv = (same, other)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    machine = relax.VirtualMachine(relax.build(mod, "llvm", relax_pipeline="default"), tvm.cpu())
    args = [np.array([np.nan, np.nan, 1], "float32"), np.array([np.nan, 2, 1], "float32")]
    same, other = (part.numpy() for part in machine["main"](*map(tvm.runtime.tensor, args)))
    np.testing.assert_array_equal(same, [False, False, True])
    np.testing.assert_array_equal(other, [True, True, False])
