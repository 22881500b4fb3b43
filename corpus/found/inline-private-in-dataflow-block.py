# InlinePrivateFunctions: a function without a dataflow block that is called in one cuts it in two, and a variable of the first part is used in the second

from tvm import relax
from tvm.relax.transform import InlinePrivateFunctions
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.abs(x)
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = mod.f(x)
            c = R.add(a, b)
            R.output(c)
        return c


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(InlinePrivateFunctions()(mod))
