# LegalizeOps: scatter_elements with indices that have no elements along a later axis: Divide by zero

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((3, 2), "float32"),
        indices: R.Tensor((3, 0), "int64"),
        updates: R.Tensor((3, 0), "float32"),
    ) -> R.Tensor((3, 2), "float32"):
        gv = R.scatter_elements(x, indices, updates, axis=0)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
