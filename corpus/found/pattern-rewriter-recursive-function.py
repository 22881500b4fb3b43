# rewriting by patterns: a match in a block that binds a recursive local function: 'Bindings contain circular dependency'

from tvm import relax
from tvm.relax.transform import RemoveRedundantReshape
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        y = R.reshape(R.reshape(x, (4,)), (2, 2))

        @R.function
        def loop(a: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
            return loop(a)

        return loop(y)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    RemoveRedundantReshape()(mod)
