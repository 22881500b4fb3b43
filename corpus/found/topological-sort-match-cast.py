# TopologicalSort: a binding is moved before the match_cast that defines its symbolic dimensions: 'Var n is not defined'

import tvm
from tvm import relax
from tvm.relax.transform import TopologicalSort
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32"), s: R.Shape(ndim=1)) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.match_cast(s, R.Shape([n]))
            gv = R.call_pure_packed("copy", x, ty_args=R.Tensor((n,), "float32"))
            R.output(gv)
        return gv


def apply(mod):
    return TopologicalSort(order="breadth-first", direction="from-outputs")(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
