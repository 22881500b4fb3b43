# LegalizeOps: strided_slice along a negative axis of a tensor with a symbolic dimension

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("m", 3), "float32")) -> R.Tensor(("m", 2), "float32"):
        with R.dataflow():
            gv = R.strided_slice(x, axes=(-1,), begin=(1,), end=(3,))
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
