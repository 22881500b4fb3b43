# DispatchSortScan: cumprod of a tensor without elements reads and writes one

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, "n"), dtype="float32")) -> R.Tensor(("2 * n",), dtype="float32"):
        gv: R.Tensor((2 * n,), dtype="float32") = R.cumprod(x, axis=None, dtype=None, exclusive=False)
        return gv


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        relax.backend.DispatchSortScan(),
    ]
    the_pass = passes[0]

    # Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.zeros((2, 0), "float32"), np.zeros((0,), "float32")]
    func = apply(mod)['cumprod']
    fault = sanitize(func, args, outputs=[1])
    assert fault is None, f"{func}\n{fault}"
