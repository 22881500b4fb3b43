# FuseOpsByPattern: a pattern with has_attr is asked of a call of an operator without attributes: "Type None do not have reflection metadata"

from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.negative(x)
            R.output(y)
        return y


if __name__ == "__main__":
    pattern = is_op("relax.negative")(wildcard()).has_attr({"axis": 0})
    FuseOpsByPattern([("cutlass.negative", pattern)])(mod)
