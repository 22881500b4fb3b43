# ToMixedPrecision: an item of a tuple that leaves a dataflow block: 'The type is not populated'

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(t: R.Tuple(R.Tensor((3,), "float32"))) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            gv = t[0]
            R.output(gv)
        return gv


def apply(mod):
    return ToMixedPrecision()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
