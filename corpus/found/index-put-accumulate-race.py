# index_put with accumulate adds in a parallel loop, and an index may come twice: sums get lost

import numpy as np
import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), i: R.Tensor((3,), dtype="int64"), v: R.Tensor((3,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = R.index_put(x, (i,), v, accumulate=True)
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

    args = [np.array([2., 2., 3., 3.], "float32"), np.array([1, 1, 3], "int64"), np.array([3., 1., 1.], "float32"), np.array([0., 0., 0., 0.], "float32")]
    func = apply(mod)['index_put']
    fault = sanitize(func, args, outputs=[3])
    assert fault is None, f"{func}\n{fault}"
