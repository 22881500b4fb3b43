# CanonicalizeBindings: an output that becomes a DataflowVar and gets a new type, as an alias in its type is unwrapped

from tvm import relax
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Shape([2]), y: R.Tensor((2,), "float32")) -> R.Tensor(dtype="float32", ndim=1):
        s = x
        with R.dataflow():
            lv = R.broadcast_to(y, s)
            gv = R.exp(lv)
            R.output(lv, gv)
        return gv


def apply(mod):
    return CanonicalizeBindings()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
