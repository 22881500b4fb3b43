# partition_for_hipblas of a matrix times a stack of matrices: Cannot convert from type `ir.IntImm` to `bool`

from tvm.relax.backend.rocm.hipblas import partition_for_hipblas
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float16"), y: R.Tensor((2, 2, 2), "float16")):
        with R.dataflow():
            gv = R.matmul(x, y)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_hipblas(mod)
