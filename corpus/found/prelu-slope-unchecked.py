# LegalizeOps: prelu with a slope of rank 4, whose type is inferred, raises an AssertionError

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2, 2), dtype="float32"):
        gv: R.Tensor((2, 2, 2, 2), dtype="float32") = R.nn.prelu(x, x, axis=1)
        return gv


if __name__ == "__main__":
    LegalizeOps(skip_ops=['relax.abs', 'relax.add', 'relax.concat', 'relax.left_shift', 'relax.less', 'relax.matmul', 'relax.multiply', 'relax.nn.avg_pool2d', 'relax.permute_dims', 'relax.split', 'relax.sum', 'relax.variance'])(mod)
