# partition_for_cublas of a product whose operand has no known shape: 'NoneType' object has no attribute 'values'

from tvm.relax.backend.cuda.cublas import partition_for_cublas
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), y: R.Tensor(dtype="float32", ndim=2)):
        with R.dataflow():
            gv = R.matmul(x, y)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_cublas(mod)
