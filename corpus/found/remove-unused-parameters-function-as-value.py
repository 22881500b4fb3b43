# RemoveUnusedParameters: a private function that is bound to a variable, or returned, is replaced by one with fewer parameters, and the variable keeps the function that is gone

import tvm
from tvm import relax
from tvm.relax.transform import RemoveUnusedParameters
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        g = mod.f
        gv = g(x, x)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(RemoveUnusedParameters()(mod))
