# ToMixedPrecision: any function with a symbolic dimension in its signature: 'no block is being built'
#
# pass: ToMixedPrecision
# oracle: crash
# fingerprint: ["crash", "ToMixedPrecision", "InternalError", "Check failed: (!block_stack_.empty()) is false: no block is being built"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (!block_stack_.empty()) is false: no block is being built
# promise: docstring: 'the pass assumes the input module to be fp32 only' and nothing else; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x


def apply(mod):
    return ToMixedPrecision()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
