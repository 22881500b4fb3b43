# LegalizeOps: index_put with two index tensors of the same symbolic shape

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((4, 3), "float32"),
        i: R.Tensor(("n",), "int64"),
        j: R.Tensor(("n",), "int64"),
        v: R.Tensor(("n",), "float32"),
    ) -> R.Tensor((4, 3), "float32"):
        gv = R.index_put(x, (i, j), v, accumulate=False)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
