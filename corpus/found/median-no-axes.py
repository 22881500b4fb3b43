# LegalizeOps: median over no axes has the type of a tuple of tensors with the shape of its operand; the legalized function gives one number

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.median(x, axis=[])
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    before, after = mod["main"].ret_ty, LegalizeOps()(mod)["main"].ret_ty
    known = relax.analysis.type_base_check(before, after)
    assert int(known) == 3, f"returned {before}, returns {after}"
