# negative of uint8: cannot make uint from negative value -1

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="uint8")) -> R.Tensor((2,), dtype="uint8"):
        gv: R.Tensor((2,), dtype="uint8") = R.negative(x)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
