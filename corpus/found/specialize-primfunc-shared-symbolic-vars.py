# SpecializePrimFuncBasedOnCallSite: the symbolic variables of the caller are put into all its PrimFuncs: 'multiple definitions of variable n'
#
# pass: SpecializePrimFuncBasedOnCallSite
# oracle: well-formed
# fingerprint: ["well-formed", "SpecializePrimFuncBasedOnCallSite", "ill-formed TensorIR", "ValueError: TIR is ill-formed, due to multiple definitions of variable <name>. It was first defined at <root>.functions<list>.params<list>.ty.shape<list>, and was later re-defined at <root>.functions<", ""]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: InternalError: ValueError: TIR is ill-formed, due to multiple definitions of variable <name>. It was first defined at <root>.functions<list>.params<list>.ty.shape<list>, and was later re-defined at <root>.functions<
# promise: docstring of s_tir.analysis.verify_well_formed; WellFormedInstrument: 'checks the input/output IRModule of the Pass'

import tvm
from tvm import relax
from tvm.relax.transform import SpecializePrimFuncBasedOnCallSite
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.nn.relu(x)
        return R.exp(y)


mod = relax.transform.LegalizeOps()(mod)


def apply(mod):
    return SpecializePrimFuncBasedOnCallSite()(mod)


if __name__ == "__main__":
    new, old = tvm.s_tir.analysis, tvm.tirx.analysis
    verify_well_formed = (new if hasattr(new, "verify_well_formed") else old).verify_well_formed
    verify_well_formed(mod)
    verify_well_formed(apply(mod))
