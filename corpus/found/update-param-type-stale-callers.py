# UpdateParamType: a function that is updated gets a new GlobalVar, and its callers keep the old one: 'GlobalVar is not defined'

import tvm
from tvm import relax
from tvm.relax.transform import UpdateParamType
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def callee(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, R.const(1.0, "float32"))

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return mod.callee(x)


def apply(mod):
    return UpdateParamType(lambda var: R.Tensor((2,), "float32"))(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
