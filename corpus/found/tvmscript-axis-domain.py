# TVMScript: the domain of a block axis that does not start at 0 is read back with another extent

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4, 3, 3, 1), "float32")) -> R.Tensor((4, 3, 3, 3), "float32"):
        with R.dataflow():
            gv = R.nn.adaptive_avg_pool2d(x, output_size=(3, 3))
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    result = LegalizeOps()(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)
