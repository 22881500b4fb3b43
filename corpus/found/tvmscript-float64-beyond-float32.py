# TVMScript: a float64 number beyond the range of float32 is printed but not read

import os

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float64")) -> R.Tensor((), "int64"):
        with R.dataflow():
            gv = R.argmin(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    # TVM's excepthook does not show a DiagnosticError otherwise.
    os.environ["TVM_BACKTRACE"] = "1"
    result = relax.transform.LegalizeOps()(mod)
    relax.analysis.well_formed(result)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)
