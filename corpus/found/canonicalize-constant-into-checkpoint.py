# CanonicalizeBindings: a variable bound to a constant is replaced by it in end_checkpoint, which takes variables only
#
# pass: CanonicalizeBindings
# oracle: crash
# fingerprint: ["crash", "CanonicalizeBindings", "TypeError", "The argument of <node> should be a Var."]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: TypeError: The argument of <node> should be a Var.
# promise: docstring: 'Canonicalizes variable definitions': the module must stay one; src/relax/op/tensor/grad.cc: 'The argument of relax.op.grad.end_checkpoint should be a Var'

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
