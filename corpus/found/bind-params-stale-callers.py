# BindParams: the callers of a function whose parameter is bound still pass the argument
#
# pass: BindParams
# oracle: tvmscript
# fingerprint: ["tvmscript", "BindParams", "Program is not well-formed"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: DiagnosticError: error: Program is not well-formed. If this is deliberate, consider setting check_well_formed in the top-level decorator to False (e.g., @<node> or @<node>).
# promise: docs/arch/tvmscript.rst, 'Roundtrip guarantee': 'For any IRModule constructed through the compiler: ... tvm.ir.assert_structural_equal(mod, reparsed)'; the well-formed checker overlooks the call only because the type of the GlobalVar is stale too, and the virtual machine says 'Invoking function bound expects 1 arguments (y), but 2 arguments were provided'

import os

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import BindParams
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def bound(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        cls = mod
        gv: R.Tensor((2,), "float32") = cls.bound(x, y)
        return gv


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    relax.analysis.well_formed(mod)
    result = BindParams("bound", {"x": np.ones(2, "float32")})(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)
