# LegalizeOps: conv2d_transpose with groups of a symbolic number of channels: 'input channels n must divide group size 2'

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, "n", 4, 4), "float32"), w: R.Tensor(("n", 2, 3, 3), "float32")):
        y = R.nn.conv2d_transpose(x, w, groups=2)
        return y


def apply(mod):
    return LegalizeOps()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
