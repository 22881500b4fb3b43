# MergeCompositeFunctions: only `main` is grouped, then every function is rewritten: one that is not `main` fails with 'could not be found in any group', a module without `main` with 'Cannot find global var'

import tvm
from tvm import relax
from tvm.relax.transform import MergeCompositeFunctions
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def composite(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "cutlass.relu", "Primitive": True})
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = mod.composite(x)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = mod.composite(x)
            R.output(gv)
        return gv


def apply(mod):
    return MergeCompositeFunctions()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
