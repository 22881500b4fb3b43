# nll_loss with unsigned targets: cannot make uint from negative value -100

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2,), dtype="uint32")) -> R.Tensor((), dtype="float32"):
        gv: R.Tensor((), dtype="float32") = R.nn.nll_loss(x, y, reduction="mean", ignore_index=-100)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
