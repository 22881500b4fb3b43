# LegalizeOps: arange of bool between constants, with more than two elements, raises NumPy's TypeError

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor((3,), "bool"):
        gv = R.arange(0, 3, 1, dtype="bool")
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
