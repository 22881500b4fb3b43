# dlight.cpu.GEMV: a batch of products of a column and a row, each a sum of one term: an AssertionError

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R

dlight = getattr(tvm, "s_tir", tvm).dlight


@I.ir_module
class Products:
    @R.function
    def main(
        x: R.Tensor((2, 1, 1), "float32"), y: R.Tensor((2, 1, 2), "float32")
    ) -> R.Tensor((2, 1, 2), "float32"):
        gv = R.matmul(x, y)
        return gv


mod = LegalizeOps()(Products)


if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        dlight.ApplyDefaultSchedule(dlight.cpu.GEMV())(mod)
