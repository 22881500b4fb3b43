# x << -1, the number a constant: 'Shift amount must be non-negative'

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "int64")) -> R.Tensor((4,), "int64"):
        y = R.left_shift(x, R.const(-1, "int64"))
        return y


if __name__ == "__main__":
    LegalizeOps()(mod)
