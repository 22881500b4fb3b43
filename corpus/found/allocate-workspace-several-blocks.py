# AllocateWorkspace: a function with two dataflow blocks: the workspace is a local variable of the first, and the call in the second is given it

import tvm
from tvm import relax
from tvm.relax.transform import AllocateWorkspace
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "tensorrt", "WorkspaceSize": 64})
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = R.negative(x)
            R.output(gv)
        gv1 = R.exp(gv)
        with R.dataflow():
            gv2 = mod.f(gv1)
            R.output(gv2)
        return gv2


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(AllocateWorkspace()(mod))
