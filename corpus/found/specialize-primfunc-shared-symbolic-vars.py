# SpecializePrimFuncBasedOnCallSite: the symbolic variables of the caller are put into all its PrimFuncs: 'multiple definitions of variable n'

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
