# TopologicalSort: what depends on a recursive local function is never sorted: 'no bindings should remain to emit'

from tvm import relax
from tvm.relax.transform import TopologicalSort
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def again(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z: R.Tensor((2,), "float32") = again(y)
            return z

        a: R.Tensor((2,), "float32") = again(x)
        with R.dataflow():
            gv = R.add(a, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    TopologicalSort(order="depth-first", direction="from-inputs")(mod)
