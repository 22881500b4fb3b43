# RunCodegen: the argument of a call of a private function has a wider type than its value: 'The type is not populated'

from tvm import relax
from tvm.relax.transform import RunCodegen
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Tensor("float32")) -> R.Tensor("float32"):
        return x

    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor("float32"):
        cls = mod
        y: R.Tensor("float32") = R.exp(x)
        z = cls.f(y)
        return z


def apply(mod):
    return RunCodegen()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
