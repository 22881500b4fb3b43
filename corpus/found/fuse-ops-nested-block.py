# FuseOps: a variable of a dataflow block in a branch that nothing uses: 'Variable lv could not be found in any group'

from tvm import relax
from tvm.relax.transform import FuseOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            with R.dataflow():
                lv = R.exp(x)
                R.output()
            y = x
        else:
            y = R.exp(x)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseOps()(mod)
