# mean over an axis of extent 0: Divide by zero

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((0, 2), dtype="float32")) -> R.Tensor((), dtype="float32"):
        gv: R.Tensor((), dtype="float32") = R.mean(x, axis=None, keepdims=False)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
