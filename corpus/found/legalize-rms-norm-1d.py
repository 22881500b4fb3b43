# InternalError: Check failed: shape.size() == indices.size() (1 vs. 0) : Tensor dimension mismatch in read ndim = 1, indices.size=0

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def func(x1: R.Tensor((3,), dtype="float64"), x2: R.Tensor((3,), dtype="float64")) -> R.Tensor((3,), dtype="float64"):
        with R.dataflow():
            lv8: R.Tensor((3,), dtype="float64") = R.nn.rms_norm(x1, x2, axes=[-1], epsilon=1.0000000000000001e-05)
            R.output(lv8)
        return lv8


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
