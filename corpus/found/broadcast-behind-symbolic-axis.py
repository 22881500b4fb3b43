# FoldConstant: operands of 3 and 2 rows, which cannot be broadcast, pass type inference since another axis is symbolic: 'Incompatible broadcast dims'

from tvm import relax
from tvm.relax.transform import FoldConstant
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3, "n"), "float32"), y: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            z = R.add(x, y)
            R.output(z)
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FoldConstant()(mod)
