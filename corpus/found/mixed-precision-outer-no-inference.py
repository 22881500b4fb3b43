# ToMixedPrecision: relax.outer is registered as always cast, without the FInferMixedPrecision that this needs

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            gv = R.outer(x, x)
            R.output(gv)
        return gv


def apply(mod):
    return ToMixedPrecision()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
