# VMShapeLower: a match_cast to a tensor whose shape is a variable: 'Cannot handle Tensor shape pattern where a var appears multiple times'

import tvm
from tvm import relax
from tvm.relax.transform import VMShapeLower
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor("float32", ndim=2), shape: R.Shape(ndim=2)) -> R.Tensor("float32", ndim=2):
        y = R.match_cast(x, R.Tensor(shape, "float32"))
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    VMShapeLower(emit_err_ctx=False)(mod)
