# LegalizeOps: 'Data type T.bool not supported for absolute op'

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), "bool")) -> R.Tensor((3,), "bool"):
        gv = R.abs(x)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
