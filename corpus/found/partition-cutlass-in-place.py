# partition_for_cutlass: the input module is changed in place

import tvm
from tvm.relax.backend.cuda.cutlass import partition_for_cutlass
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    before = tvm.ir.save_json(mod)
    partition_for_cutlass(mod)
    assert tvm.ir.save_json(mod) == before, "the input module is changed in place"
