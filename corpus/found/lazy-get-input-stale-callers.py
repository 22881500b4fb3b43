# LazyGetInput: a function takes its weights from a callback, and its caller still passes them

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import LazyGetInput
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def layer(
        x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")
    ) -> R.Tensor((2,), "float32"):
        R.func_attr({"num_input": 1})
        gv = R.multiply(x, w)
        gv1 = R.add(gv, b)
        return gv1

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"num_input": 1})
        cls = mod
        gv: R.Tensor((2,), "float32") = cls.layer(x, x, x)
        return gv


if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(LazyGetInput()(mod), "llvm"), tvm.cpu())
    tensor = getattr(tvm.runtime, "tensor", None) or tvm.nd.array
    no_weights = tvm.get_global_func("runtime.NumThreads")
    result = machine["main"](tensor(np.ones(2, "float32")), no_weights)
    np.testing.assert_array_equal(result.numpy(), np.full(2, 2, "float32"))
