# BindParams: the callers of a function whose parameter is bound still pass the argument

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
