# LambdaLift: a closure that is passed to a function: 'Argument 0 type mismatch: expected R.Callable, given R.Any'

import tvm
from tvm import relax
from tvm.relax.transform import LambdaLift
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def apply(
        f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")),
        x: R.Tensor((2,), "float32"),
    ) -> R.Tensor((2,), "float32"):
        y = f(x)
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def closure(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            total = R.add(x, y)
            return total

        y = mod.apply(closure, x)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LambdaLift()(mod)
