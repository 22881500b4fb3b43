# ToMixedPrecision: relax.outer is registered as always cast, without the FInferMixedPrecision that this needs
#
# pass: ToMixedPrecision
# oracle: crash
# fingerprint: ["crash", "ToMixedPrecision", "InternalError", "Check failed: (attr_map.count(op)) is false:"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (attr_map.count(op)) is false:
# promise: docstring: 'will automatically cast fp32 to fp16 for certain ops'; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            gv = R.outer(x, x)
            R.output(gv)
        return gv


def apply(mod):
    return ToMixedPrecision()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
