# LambdaLift: a closure that is called by a second name: 'Call->op must contains a function type'

import tvm
from tvm import relax
from tvm.relax.transform import LambdaLift
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def closure(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            total = R.add(x, y)
            return total

        alias = closure
        gv = alias(x)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LambdaLift()(mod)
