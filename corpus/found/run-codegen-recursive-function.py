# RunCodegen: it follows the calls of a recursive function without end, until the stack is full

import tvm
from tvm import relax
from tvm.relax.transform import RunCodegen
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def loop(
        count: R.Tensor((), "int64"), x: R.Tensor((2,), "float32")
    ) -> R.Tensor((2,), "float32"):
        done: R.Tensor((), "bool") = R.less_equal(count, R.const(0, "int64"))
        if done:
            y = x
        else:
            less: R.Tensor((), "int64") = R.subtract(count, R.const(1, "int64"))
            again: R.Tensor((2,), "float32") = mod.loop(less, x)
            y = again
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    RunCodegen(entry_functions=["loop"])(mod)
