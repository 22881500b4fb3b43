# partition_for_hipblas of a product of n times 2 matrices: int() argument must not be a 'Mul'

from tvm.relax.backend.rocm.hipblas import partition_for_hipblas
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n", 2, 2, 2), "float16"), y: R.Tensor(("n", 2, 2, 2), "float16")):
        with R.dataflow():
            gv = R.matmul(x, y)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_hipblas(mod)
