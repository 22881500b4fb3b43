# take in the mode nan of int32: Cannot convert NaN to BigInt

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="int64")) -> R.Tensor((2,), dtype="int64"):
        gv: R.Tensor((2,), dtype="int64") = R.take(x, x, axis=0, mode="nan")
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
