# ToMixedPrecision: a call of a local function in a dataflow block: Expected TensorType, but got R.Callable

from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():

            @R.function
            def lv(a: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
                gv: R.Tensor((), dtype="float32") = R.negative(a)
                return gv

            gv1: R.Tensor((), dtype="float32") = lv(x)
            R.output(gv1)
        return gv1


if __name__ == "__main__":
    ToMixedPrecision()(mod)
