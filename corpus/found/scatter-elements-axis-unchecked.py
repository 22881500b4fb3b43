# FoldConstant: scatter_elements of vectors along the axis 1, whose type is inferred, raises an IndexError

from tvm.relax.transform import FoldConstant
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((2,), dtype="float32") = R.scatter_elements(x, R.const([1, 1], "int64"), x, axis=1, reduction="update")
            R.output(gv)
        return gv


if __name__ == "__main__":
    FoldConstant()(mod)
