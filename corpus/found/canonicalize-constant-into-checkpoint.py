# CanonicalizeBindings: a variable bound to a constant is replaced by it in end_checkpoint, which takes variables only

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.const(1.0, "float32")
            gv = R.grad.end_checkpoint(lv)
            R.output(gv)
        return gv


def apply(mod):
    return CanonicalizeBindings()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
