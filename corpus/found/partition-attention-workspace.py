# partition_for_cutlass and partition_for_cudnn of attention: KeyError: 'T.float32'

from tvm.relax.backend.cuda.cutlass import partition_for_cutlass
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), "float32")):
        with R.dataflow():
            gv = R.nn.attention(x, x, x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_cutlass(mod)
