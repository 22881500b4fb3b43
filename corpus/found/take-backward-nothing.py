# LegalizeOps: take_backward of a tensor without elements: Divide by zero

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        grad: R.Tensor((2, 0), "float32"),
        x: R.Tensor((3, 0), "float32"),
        indices: R.Tensor((2,), "int64"),
    ) -> R.Tensor((3, 0), "float32"):
        gv = R.grad.take_backward(grad, x, indices, axis=0)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
