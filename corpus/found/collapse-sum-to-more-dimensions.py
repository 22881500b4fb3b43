# collapse_sum_to a shape of higher rank: type inference takes it, 'Invalid collapse' when it is legalized

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((3, 2), "float32"):
        y = R.collapse_sum_to(x, (3, 2))
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
