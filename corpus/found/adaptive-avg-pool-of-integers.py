# adaptive_avg_pool2d of int8 has the type int8 and becomes int32

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), "int8")) -> R.Tensor((1, 1, 1, 1), "int8"):
        return R.nn.adaptive_avg_pool2d(x, output_size=(1, 1))


def apply(mod):
    return LegalizeOps()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    before, after = mod["main"].ret_ty, apply(mod)["main"].ret_ty
    assert int(relax.analysis.type_base_check(before, after)) == 3, f"{before} becomes {after}"
