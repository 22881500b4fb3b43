# RemoveUnusedParameters: a shape parameter that defines a symbolic variable is removed, although the type of another parameter uses the variable in n + m

import tvm
from tvm import relax
from tvm.relax.transform import RemoveUnusedParameters
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def func(
        x: R.Tensor(("n", "n + m"), "float32"), s: R.Shape(["m"])
    ) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        with R.dataflow():
            gv = R.sum(x, axis=1)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(RemoveUnusedParameters()(mod))
