# SpecializePrimFuncBasedOnCallSite: the buffer of a parameter is aligned to 8 bytes, as legalizing median leaves it: 'The buffer data_alignment mismatched'

import tvm
from tvm.relax.transform import LegalizeOps, SpecializePrimFuncBasedOnCallSite
from tvm.script import ir as I, relax as R


@I.ir_module
class median:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tuple(R.Tensor((), "float32"), R.Tensor((), "int64")):
        with R.dataflow():
            gv = R.median(x, axis=[0])
            R.output(gv)
        return gv


with tvm.target.Target("llvm"):
    mod = LegalizeOps()(median)


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        SpecializePrimFuncBasedOnCallSite(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
