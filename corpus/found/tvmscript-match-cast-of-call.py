# TVMScript: a match_cast of a call comes back as two bindings

import tvm
from tvm import relax
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "int64")) -> R.Shape([2, 2]):
        with R.dataflow():
            lv = R.tensor_to_shape(x)
            gv = R.match_cast(lv, R.Shape([2, 2]))
            R.output(gv)
        return gv


if __name__ == "__main__":
    result = CanonicalizeBindings()(mod)
    relax.analysis.well_formed(result)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script()), result)
