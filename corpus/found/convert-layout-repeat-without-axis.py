# ConvertLayout: repeat without an axis, behind a conv2d, gives the elements in another order

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 3, 3), dtype="float32"), w: R.Tensor((2, 2, 2, 2), dtype="float32")) -> R.Tensor((16,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 2, 2, 2), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            gv: R.Tensor((16,), dtype="float32") = R.repeat(lv, repeats=1, axis=None)
            R.output(gv)
        return gv


if __name__ == "__main__":
    the_pass = ConvertLayout({'relax.nn.conv2d': ['NHWC', 'OHWI']})
    x, w = np.arange(36.0).reshape(2, 2, 3, 3), np.arange(16.0).reshape(2, 2, 2, 2)
    args = [tvm.runtime.tensor(each.astype("float32")) for each in (x, w)]
    results = []
    for one in (mod, the_pass(mod)):
        machine = relax.VirtualMachine(relax.build(one, "llvm"), tvm.cpu())
        results.append(machine['main'](*args).numpy())
    before, after = results
    np.testing.assert_allclose(after, before, rtol=2e-05, atol=0.0004, strict=True)
