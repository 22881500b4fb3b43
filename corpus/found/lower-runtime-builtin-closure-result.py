# LowerRuntimeBuiltin: the result of a closure loses its type, so no operator takes it

from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def plus(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z: R.Tensor((2,), "float32") = R.add(x, y)
            return z

        v: R.Tensor((2,), "float32") = plus(x)
        w: R.Tensor((2,), "float32") = R.exp(v)
        return w


if __name__ == "__main__":
    relax.build(relax.transform.LambdaLift()(mod), "llvm")
