# FuseOpsByPattern: a value that the pattern matches is bound before the dataflow block, and the group lacks it: FuseTransposeMatmul then computes other values

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")
    ) -> R.Tensor((2, 2), "float32"):
        transposed = R.permute_dims(w)
        with R.dataflow():
            gv = R.matmul(x, transposed)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    x, w = np.array([[1, 2], [3, 4]], "float32"), np.array([[5, 6], [7, 9]], "float32")
    built = relax.build(FuseTransposeMatmul()(mod), "llvm")
    args = [tvm.runtime.tensor(each) for each in (x, w)]
    found = relax.VirtualMachine(built, tvm.cpu())["main"](*args).numpy()
    np.testing.assert_array_equal(found, x @ w.T)
