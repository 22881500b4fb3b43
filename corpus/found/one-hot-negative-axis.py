# one_hot with the axis -2: Index 1 out of bounds 1

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="int64")) -> R.Tensor((4, 2), dtype="float32"):
        gv: R.Tensor((4, 2), dtype="float32") = R.one_hot(x, T.float32(1.0), T.float32(0.0), depth=4, axis=-2)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
