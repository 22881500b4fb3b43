# all_class_non_max_suppression of boxes of two numbers reads behind the boxes

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(boxes: R.Tensor((1, 2, 2), "float32"), scores: R.Tensor((1, 1, 2), "float32")):
        return R.vision.all_class_non_max_suppression(
            boxes,
            scores,
            R.const(1, "int64"),
            R.const(0.5, "float32"),
            R.const(0.0, "float32"),
        )


def apply(mod):
    return LegalizeOps()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)

    # Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [
        np.array([[[0.0, 1.0], [2.0, 3.0]]], "float32"),
        np.array([[[0.75, 0.5]]], "float32"),
        np.array(0.5, "float32"),
        np.array(0.0, "float32"),
        np.zeros((1, 3), "int64"),
        np.zeros((1,), "int64"),
    ]
    func = apply(mod)["all_class_non_max_suppression"]
    fault = sanitize(func, args, outputs=[4, 5])
    assert fault is None, f"{func}\n{fault}"
