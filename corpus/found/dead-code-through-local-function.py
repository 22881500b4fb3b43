# DeadCodeElimination: a binding that only an unused local function used is left

import tvm
from tvm import relax
from tvm.relax.transform import DeadCodeElimination
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        unused = R.exp(x)

        @R.function
        def local(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            z = R.add(y, unused)
            return z

        return x


def apply(mod, p=None):
    return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [DeadCodeElimination()]
    the_pass = passes[0]

    result = apply(mod)
    once = len(list(result["main"].body.blocks))
    assert once == 0, f"an unused pure binding is left: {result}"
