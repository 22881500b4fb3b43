# LegalizeOps: meshgrid of one tensor is no tuple any more

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.meshgrid((x,), indexing="ij")
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    result = LegalizeOps()(mod)["main"].body.body
    ty = getattr(result, "ty", None) or result.struct_info
    assert type(ty).__name__.startswith("Tuple"), f"expected a tuple but got {ty}"
