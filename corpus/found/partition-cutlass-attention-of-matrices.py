# partition_for_cutlass of attention over matrices: TypeError: shape must be a tuple/list or a Relax shape expression

from tvm.relax.backend.cuda.cutlass import partition_for_cutlass
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2), "float32")):
        with R.dataflow():
            scores = R.matmul(x, R.permute_dims(x, [0, 2, 1]))
            weights = R.nn.softmax(R.multiply(scores, R.const(1.0, "float32")))
            gv = R.matmul(weights, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_cutlass(mod)
