# CanonicalizeBindings: an element of a tuple that one dataflow block gives out is replaced, in a later block, by the local variable of the first

from tvm import relax
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            lv = R.exp(x)
            pair = (lv, x)
            R.output(pair)
        R.print(x, format="{}")
        with R.dataflow():
            lv1 = pair[0]
            z = R.add(lv1, x)
            R.output(z)
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(CanonicalizeBindings()(mod))
