# astype of the constant -1 to uint8: Python integer -1 out of bounds for uint8

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor((), dtype="uint8"):
        gv: R.Tensor((), dtype="uint8") = R.astype(R.const(-1, "int32"), dtype="uint8")
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
