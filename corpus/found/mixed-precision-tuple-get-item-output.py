# ToMixedPrecision: an item of a tuple that leaves a dataflow block: 'The type is not populated'
#
# pass: ToMixedPrecision
# oracle: crash
# fingerprint: ["crash", "ToMixedPrecision", "InternalError", "Check failed: (!expr->ty.IsMissing()) is false: The type is not populated, check if you have normalized the expr"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (!expr->ty.IsMissing()) is false: The type is not populated, check if you have normalized the expr
# promise: docstring: 'the pass assumes the input module to be fp32 only' and nothing else; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(t: R.Tuple(R.Tensor((3,), "float32"))) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            gv = t[0]
            R.output(gv)
        return gv


def apply(mod):
    return ToMixedPrecision()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
