# StaticPlanBlockMemory: a storage that is allocated inside a branch of an If is used again after it: 'Var storage is not defined'

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
