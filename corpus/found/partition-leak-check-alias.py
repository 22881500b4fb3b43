# partition_for_hipblas of a product whose alias leaves the dataflow block: 'key is not in Map'

from tvm.relax.backend.rocm.hipblas import partition_for_hipblas
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            lv = R.matmul(x, x)
            gv = lv
            R.output(gv)
        gv1 = R.add(gv, gv)
        return gv1


if __name__ == "__main__":
    partition_for_hipblas(mod)
