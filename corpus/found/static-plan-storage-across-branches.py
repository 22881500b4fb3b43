# StaticPlanBlockMemory: a storage that is allocated inside a branch of an If is used again after it: 'Var storage is not defined'
#
# pass: StaticPlanBlockMemory
# oracle: well-formed
# fingerprint: ["well-formed", "StaticPlanBlockMemory", "ill-formed", "Var <name> is not defined.", "value"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: Var <name> is not defined.
# promise: relax.analysis.well_formed: every variable is defined before it is used; docstring: 'The static memory planning pass on BindingBlock level'

import tvm
from tvm import relax
from tvm.relax.transform import StaticPlanBlockMemory
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.exp(x)
            z = R.nn.relu(y)
        else:
            z = R.tanh(x)
        u = R.sin(x)
        v = R.cos(u)
        return R.add(z, v)


mod = tvm.transform.Sequential(
    [
        relax.transform.LegalizeOps(),
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
    ]
)(mod)


def apply(mod):
    return StaticPlanBlockMemory()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
