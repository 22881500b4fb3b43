# MergeCompositeFunctions: a symbolic variable as argument of a call_tir: 'Could not find memo-ized group for expression of type ir.Var'

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

    @T.prim_func(private=True)
    def fill(n: T.int64, A: T.Buffer((2,), "float32")):
        for i in range(2):
            A[i] = T.Cast("float32", n)

    @R.function
    def main(s: R.Shape(["n"])) -> R.Tensor((2,), "float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.call_tir(mod.fill, (n,), out_ty=R.Tensor((2,), "float32"))
            gv = mod.composite(lv)
            R.output(gv)
        return gv


def apply(mod):
    return MergeCompositeFunctions()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
