# repeat of a scalar: Index out of range

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        gv: R.Tensor((2,), dtype="float32") = R.repeat(x, repeats=2, axis=None)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
