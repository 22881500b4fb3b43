# RemoveUnusedOutputs: a private function that is bound to a variable counts as one whose results nobody uses: it is replaced by one that returns nothing, and the variable keeps the function that is gone

import tvm
from tvm import relax
from tvm.relax.transform import RemoveUnusedOutputs
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def f(
        x: R.Tensor((2,), "float32"),
    ) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        return (x, x)

    @R.function
    def main(
        x: R.Tensor((2,), "float32"),
    ) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        g = mod.f
        gv = g(x)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(RemoveUnusedOutputs()(mod))
