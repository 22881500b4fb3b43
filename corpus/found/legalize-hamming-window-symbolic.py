# LegalizeOps: a periodic hamming_window of symbolic size

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        with R.dataflow():
            gv: R.Tensor((n,), "float32") = R.hamming_window(
                n, True, T.float64(0.54), T.float64(0.46), dtype="float32"
            )
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
