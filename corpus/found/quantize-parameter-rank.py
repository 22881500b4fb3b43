# LegalizeOps: quantize with a scale of rank 3 raises a ValueError, though its type is inferred

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="int8"):
        gv: R.Tensor((2, 2, 2), dtype="int8") = R.quantize(x, x, R.const(1, "int8"), out_dtype="int8", axis=-1)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
