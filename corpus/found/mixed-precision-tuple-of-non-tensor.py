# ToMixedPrecision: a tuple with a shape in it: 'Expected TensorType, but got R.Shape'

from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32"), s: R.Shape([2])) -> R.Tuple(R.Tensor((2,), "float32"), R.Shape([2])):
        with R.dataflow():
            y = (x, s)
            R.output(y)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ToMixedPrecision()(mod)
