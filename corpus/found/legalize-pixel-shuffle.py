# AttributeError: module 'tvm.topi.nn' has no attribute 'pixel_shuffle'

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x2: R.Tensor((2, 2, 2, 3), dtype="int8")) -> R.Tensor((2, 2, 2, 3), dtype="int8"):
        v13: R.Tensor((2, 2, 2, 3), dtype="int8") = R.nn.pixel_shuffle(x2, upscale_factor=1)
        return v13


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
