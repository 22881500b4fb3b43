# Gradient: the module has a function main_adjoint: the new one is main_adjoint1 with the global_symbol main_adjoint

from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            gv: R.Tensor((), "float32") = R.sum(x)
            R.output(gv)
        return gv

    @R.function
    def main_adjoint(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        return x


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(Gradient("main")(mod))
