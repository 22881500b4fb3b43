# FoldConstant: tensor_to_shape of an int32 constant is read as int64, beyond its end

from tvm.relax.transform import FoldConstant
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Shape(ndim=2):
        with R.dataflow():
            gv: R.Shape(ndim=2) = R.tensor_to_shape(R.const([2, 3], "int32"))
            R.output(gv)
        return gv


if __name__ == "__main__":
    (block,) = FoldConstant()(mod)["main"].body.blocks
    assert [int(size) for size in block.bindings[0].value.values] == [2, 3]
