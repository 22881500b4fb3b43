# index_put whose indices are a tuple parameter: not supported type in emit_te

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), y: R.Tuple(R.Tensor((2,), dtype="int64"))) -> R.Tensor((2,), dtype="float32"):
        gv: R.Tensor((2,), dtype="float32") = R.index_put(x, y, x, accumulate=False)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
