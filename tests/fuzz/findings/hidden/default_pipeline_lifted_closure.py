"""LowerRuntimeBuiltin forgets the type of what a lifted closure returns.

The call of the closure becomes a call of the runtime that returns anything, and the kernel that
takes the result refuses it: "Argument 0 type mismatch".
"""

from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "--pipeline default"
NOT = ("allocate-workspace-function-as-value",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            @R.function
            def closure(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return x

            y = closure(x)
            return R.negative(y)

    return relax.transform.LambdaLift()(Module)
