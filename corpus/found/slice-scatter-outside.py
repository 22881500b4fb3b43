# slice_scatter reads behind its source for what is not in the slice

import numpy as np
import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), dtype="float32"), s: R.Tensor((2,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((3,), dtype="float32") = R.slice_scatter(x, s, 0, 2, 1, axis=0)
            R.output(gv)
        return gv


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    # Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.array([2., 1., 0.], "float32"), np.array([-2., -1.], "float32"), np.array([0., 0., 0.], "float32")]
    func = apply(mod)['slice_scatter']
    fault = sanitize(func, args, outputs=[2])
    assert fault is None, f"{func}\n{fault}"
