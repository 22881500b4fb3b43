# ExpandTupleArguments: a private function that takes a tuple and is bound to a variable is replaced by one that takes its fields, and the variable keeps the function that is gone

import tvm
from tvm import relax
from tvm.relax.transform import ExpandTupleArguments
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def f(
        pair: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")),
    ) -> R.Tensor((2,), "float32"):
        gv = pair[0]
        return gv

    @R.function
    def main(
        pair: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")),
    ) -> R.Tensor((2,), "float32"):
        g = mod.f
        gv = g(pair)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(ExpandTupleArguments()(mod))
