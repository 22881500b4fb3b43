# all_class_non_max_suppression of unsigned scores: cannot make uint from negative value -1

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(boxes: R.Tensor((1, 2, 4), "float32"), scores: R.Tensor((1, 1, 2), "uint8")):
        return R.vision.all_class_non_max_suppression(
            boxes,
            scores,
            R.const(1, "int64"),
            R.const(0.5, "float32"),
            R.const(0, "uint8"),
        )


def apply(mod):
    return LegalizeOps()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
