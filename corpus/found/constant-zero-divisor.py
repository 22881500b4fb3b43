# x / 0.0, the zero a constant: Divide by zero

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.divide(x, R.const(0.0, "float32"))
        return y


if __name__ == "__main__":
    LegalizeOps()(mod)
