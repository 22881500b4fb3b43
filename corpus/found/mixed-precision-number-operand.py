# ToMixedPrecision: a number beside a tensor that is cast keeps its dtype: the operator has operands of two dtypes

from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            y = R.matmul(x, x)
            z = R.multiply(y, T.float32(0.5))
            R.output(z)
        return z


if __name__ == "__main__":
    ToMixedPrecision()(mod)
