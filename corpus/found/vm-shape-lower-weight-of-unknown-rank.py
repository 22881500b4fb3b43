# VMShapeLower: a weight (a parameter after num_input) of unknown rank: the pass dereferences a null pointer

import tvm
from tvm import relax
from tvm.relax.transform import VMShapeLower
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor(dtype="float32")) -> R.Tensor(dtype="float32"):
        R.func_attr({"num_input": 1})
        return w


def apply(mod):
    return VMShapeLower()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
