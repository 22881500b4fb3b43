# partition_for_cutlass of attention over slices without strides: Index out of range. size: 4, got index 4

from tvm.relax.backend.cuda.cutlass import partition_for_cutlass
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 4, 48), "float16")):
        with R.dataflow():
            q = R.reshape(R.strided_slice(x, (2,), (0,), (16,)), R.shape([2, 4, 2, 8]))
            k = R.reshape(R.strided_slice(x, (2,), (16,), (32,)), R.shape([2, 4, 2, 8]))
            v = R.reshape(R.strided_slice(x, (2,), (32,), (48,)), R.shape([2, 4, 2, 8]))
            gv = R.nn.attention(q, k, v)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_cutlass(mod)
