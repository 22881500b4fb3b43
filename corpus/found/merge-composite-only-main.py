# MergeCompositeFunctions: only `main` is grouped, then every function is rewritten: one that is not `main` fails with 'could not be found in any group', a module without `main` with 'Cannot find global var'
#
# pass: MergeCompositeFunctions
# oracle: crash
# fingerprint: ["crash", "MergeCompositeFunctions", "InternalError", "Check failed: (it_group != obj2group_.end()) is false: Variable <name> could not be found in any group"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (it_group != obj2group_.end()) is false: Variable <name> could not be found in any group
# promise: docstring: 'Group one or multiple composite functions created by FuseOpsByPattern into a new function': no word of a function called main; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

import tvm
from tvm import relax
from tvm.relax.transform import MergeCompositeFunctions
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def composite(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "cutlass.relu", "Primitive": True})
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = mod.composite(x)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = mod.composite(x)
            R.output(gv)
        return gv


def apply(mod):
    return MergeCompositeFunctions()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)
