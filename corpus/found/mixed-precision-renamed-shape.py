# ToMixedPrecision: a shape that a dataflow block makes and names again, by match_cast or an alias

from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="int64")) -> R.Shape([2, 2]):
        with R.dataflow():
            gv: R.Shape(ndim=2) = R.tensor_to_shape(x)
            gv1: R.Shape([2, 2]) = R.match_cast(gv, R.Shape([2, 2]))
            R.output(gv, gv1)
        return gv1

if __name__ == "__main__":
    ToMixedPrecision(out_dtype='float32')(mod)
