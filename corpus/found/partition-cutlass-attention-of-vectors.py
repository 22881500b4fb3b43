# partition_for_cutlass of a softmax between products with a vector: cannot unpack non-iterable NoneType object

from tvm.relax.backend.cuda.cutlass import partition_for_cutlass
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            scores = R.multiply(R.matmul(x, R.permute_dims(y)), R.const(1.0, "float32"))
            weights = R.nn.softmax(scores)
            gv = R.matmul(weights, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_cutlass(mod)
