# partition_for_cutlass of a function of this name: TypeError: argument of type 'NoneType' is not iterable

from tvm.relax.backend.cuda.cutlass import partition_for_cutlass
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main_for_cutlass(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            gv = R.negative(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    partition_for_cutlass(mod)
