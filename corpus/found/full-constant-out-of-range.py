# full of the constant -3 as uint32: cannot make uint from negative value -3

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor((2,), dtype="uint32"):
        gv: R.Tensor((2,), dtype="uint32") = R.full(R.shape([2]), R.const(-3, "int16"), dtype="uint32")
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
