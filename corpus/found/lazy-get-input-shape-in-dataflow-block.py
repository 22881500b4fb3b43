# LazyGetInput: a weight that is a shape is used in a dataflow block, and an output of the block has this shape

from tvm import relax
from tvm.relax.transform import LazyGetInput
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(s: R.Shape([2, 2])) -> R.Tensor(dtype="float32", ndim=2):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            gv = R.zeros(s, "float32")
            R.output(gv)
        return gv


def apply(mod):
    return LazyGetInput()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
