# Gradient: the product of two vectors, one of a symbolic length

from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), y: R.Tensor(("n",), dtype="float32"), z: R.Tensor(("n", 2), dtype="float32")) -> R.Tuple(R.Tensor(("n", 2), dtype="float32"), R.Tensor((), dtype="float32")):
        with R.dataflow():
            gv: R.Tensor((), dtype="float32") = R.matmul(x, y, out_dtype=None)
            R.output(gv)
        return (z, gv)

if __name__ == "__main__":
    Gradient('main', target_index=1)(mod)
