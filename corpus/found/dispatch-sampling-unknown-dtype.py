# DispatchSampling: an operand of unknown dtype becomes a buffer without a dtype

import os

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        p: R.Tensor((1, 1), "float32"), u: R.Tensor((1, 1), "float32"), i: R.Tensor((1, 1))
    ) -> R.Tensor((1, 1), "int64"):
        return R.multinomial_from_uniform(p, u, i, dtype="int64")


if __name__ == "__main__":
    # Otherwise TVMScript ends the process with a message that does not say what is wrong.
    os.environ["TVM_BACKTRACE"] = "1"
    relax.analysis.well_formed(mod)
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSampling()(mod)
