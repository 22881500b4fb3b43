# CombineParallelMatmul: matmuls of tensors of unknown dtype

from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2)), y: R.Tensor((2, 2)), z: R.Tensor((2, 2))):
        with R.dataflow():
            a = R.matmul(x, y)
            b = R.matmul(x, z)
            R.output(a, b)
        return (a, b)


if __name__ == "__main__":
    CombineParallelMatmul()(mod)
