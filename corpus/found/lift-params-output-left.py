# LiftTransformParams: an output of a dataflow block stays one, though the only use outside goes
#
# pass: LiftTransformParams
# oracle: idempotent
# fingerprint: ["idempotent", "LiftTransformParams", "a second run changes the result", "Var"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: StructuralEqual check failed, caused by lhs at <root>.functions<list>.body.blocks<list>.bindings<list>.var:
# promise: tests/python/relax/test_transform_lift_transform_params.py::test_lift_transform_is_idempotent asserts equality of one round and two

import tvm
from tvm import relax
from tvm.relax.transform import LiftTransformParams
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            pair = (x, x)
            R.output(pair)
        first = pair[0]
        return R.add(first, w)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    once = LiftTransformParams()(mod)
    tvm.ir.assert_structural_equal(once, LiftTransformParams()(once))
