# scatter_elements with the reduction mean of int32: TVM supports multiple types of integer divisions

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="int64")) -> R.Tensor((2,), dtype="int64"):
        gv: R.Tensor((2,), dtype="int64") = R.scatter_elements(x, x, x, axis=0, reduction="mean")
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
